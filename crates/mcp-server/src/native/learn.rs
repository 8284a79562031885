//! `learn`: knowledge entries and their links: adds, changes, removes, says what helped.

use docket_core::command::{AddEntries, CiteEntries, EditEntry};
use docket_core::model::{Authority, EntryId, ItemRef, Title};
use docket_core::query::{KnowledgeHit, KnowledgeQuery, Reference, ReviewState};
use docket_core::store::{Around, EntryFilter};
use docket_core::{Error, Reason, limits};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::budget::{Page, Row};
use super::common::{Writer, must_allow, need_item, project, project_of_item, say_one};
use super::find::Ask;
use super::item_args::{learnings, tags, version};
use super::schema::{self, Effect, object, objects, text, texts};
use super::split::{Split, put};
use crate::answer::Answer;
use crate::args::{long_text, tag};
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["learned", "id", "edit", "used", "unused", "project", "actor", "requestId"];
const EDIT: &[&str] = &["id", "title", "body", "tags", "version"];
/// How many entries a search of knowledge answers at the most.
const FOUND: usize = limits::KNOWLEDGE_PAGE;

pub(super) fn tool() -> Tool {
    let properties = json!({
        "learned": objects("{title,body,tags}"),
        "id": text(),
        "edit": object("{id,title,body,tags,version}"),
        "used": texts(), "unused": texts(),
    });
    let about = "Knowledge for whoever comes next: add learned (from item id), edit an entry, or say which were used \
                 for item id.";
    schema::tool("learn", about, Effect::Writes, properties, &[])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    must_allow::<AddEntries>(session)?;
    let writer = Writer::read(session, &mut fields)?;
    let (used, unused) = (fields.has("used"), fields.has("unused"));
    let said = [fields.has("learned"), fields.has("edit"), used || unused];
    if said.iter().filter(|given| **given).count() != 1 || (used && unused) {
        return Err(say_one("learned", "learned, edit, used, unused"));
    }
    let mut split = Split::default();
    match said {
        [true, ..] => {
            let item = fields.parsed("id", str::parse::<ItemRef>)?;
            let entries = learnings(&mut fields)?;
            let project = match item {
                Some(_) => project_of_item(session, &mut fields).await?,
                None => project(session, &mut fields).await?,
            };
            fields.end()?;
            let add = AddEntries { project, entries, item, authority: Authority::Agent };
            let added = session.engine().run(writer.call(session), add).await;
            split.say("entries", added.map_err(|error| error.called("entries", "learned"))?.entries);
        }
        [_, true, ..] => {
            let edit = edit(fields.value("edit").unwrap_or_default())?;
            fields.end()?;
            let entry = session.engine().run(writer.call(session), edit).await?.entry;
            split.say("version", entry.version);
            split.say("reviewState", ReviewState::of(&entry));
        }
        [..] => {
            let item = need_item(&mut fields)?;
            let entries = entries(&mut fields, if used { "used" } else { "unused" })?;
            let project = project_of_item(session, &mut fields).await?;
            fields.end()?;
            let cite = CiteEntries { project, item, entries, used };
            split.say("changed", session.engine().run(writer.call(session), cite).await?.changed);
        }
    }
    Ok(split.answer())
}

fn edit(value: Value) -> Result<EditEntry, Error> {
    let mut edit = Fields::inside("edit", value, EDIT)?;
    Ok(EditEntry {
        entry: edit.need("id", str::parse::<EntryId>)?,
        title: edit.parsed("title", Title::parse)?,
        body: edit.parsed("body", long_text)?,
        tags: edit.texts("tags", tag)?,
        expected_version: version(&mut edit)?,
        authority: Authority::Agent,
    })
}

fn entries(fields: &mut Fields, name: &str) -> Result<Vec<EntryId>, Error> {
    Ok(fields.texts(name, str::parse::<EntryId>)?.unwrap_or_default())
}

/// `find what=knowledge`: what answers a question, one entry whole by its id, or the newest.
pub(super) async fn find(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let engine = ask.session.engine();
    let query = fields.text("query")?;
    let named = fields.raw_text("id")?;
    let tags = tags(fields)?;
    fields.end()?;
    let mut filter = EntryFilter { project: ask.project.clone(), tags, ..EntryFilter::default() };
    // An entry by its own id, whole; an item's id narrows the list to what is linked with it.
    if let Some(id) = named.as_deref() {
        if let Ok(entry) = id.parse::<EntryId>() {
            let view = engine.entry(entry).await?;
            let mut split = row(&view.entry, None).said;
            split.quote("body", &view.entry.body);
            let keys = super::names::Names::of(ask.session, view.links.iter().map(|link| link.item).collect()).await;
            let links = view.links.iter().map(|link| json!({ "item": keys.get(link.item), "kind": link.kind }));
            split.say("links", links.collect::<Vec<_>>());
            return Ok(split.answer());
        }
        let item = id.parse::<ItemRef>().map_err(|invalid| Error::from(invalid.at("id")))?;
        let seen = engine.show(&ask.project, std::slice::from_ref(&item), Around::default()).await?;
        filter.item = Some(seen.resolve(&item).map_err(|error| error.at("id"))?.id);
    }
    let Some(query) = query else {
        return ask
            .answer(|limit| {
                let filter = filter.clone();
                async move {
                    let page = engine.list_knowledge(&filter, limit, ask.cursor.as_deref()).await?;
                    let rows = page.entries.iter().map(|entry| row(entry, None)).collect();
                    Ok(Page { rows, next: page.next, total: None })
                }
            })
            .await;
    };
    if ask.cursor.is_some() {
        return Err(Error::validation(Reason::BadCursor, "a search has one page: ask for more").at("cursor"));
    }
    let limit = ask.budget.rows.min(FOUND);
    let found = engine.search_knowledge(&KnowledgeQuery { filter, query, minimum: 0.0, limit }).await?;
    let rows: Vec<Row> = found.hits.iter().map(hit).collect();
    let mut split = Split::default();
    split.say("mode", found.mode);
    split.say("degraded", &found.degraded);
    split.say("partial", found.partial.then_some(true));
    let page = |limit: usize| {
        let kept: Vec<Row> = rows.iter().take(limit).cloned().collect();
        std::future::ready(Ok(Page { rows: kept, next: None, total: None }))
    };
    super::budget::write(&mut split, super::budget::fitted(ask.budget, page).await?);
    Ok(split.answer())
}

/// What bears on an item, for its packet: ids and how they stand apart from what somebody wrote.
pub(super) fn references(split: &mut Split, references: &[Reference]) {
    let known =
        references.iter().map(|hit| json!({ "id": hit.id, "score": hit.score, "reviewState": hit.review_state }));
    split.say("knowledge", known.collect::<Vec<_>>());
    let mut said = Map::new();
    for reference in references {
        let text = json!({ "title": reference.title, "excerpt": reference.excerpt });
        put(&mut said, &reference.id.to_string(), text);
    }
    split.quote("knowledge", Value::Object(said));
}

fn hit(hit: &KnowledgeHit) -> Row {
    let mut row = row(&hit.entry, Some(hit.score));
    row.said.quote("body", &hit.entry.body);
    row.said.say("truncated", hit.truncated.then_some(true));
    row
}

fn row(entry: &docket_core::model::Entry, score: Option<f64>) -> Row {
    let mut said = Split::default();
    said.say("id", entry.id);
    said.say("reviewState", ReviewState::of(entry));
    said.say("score", score);
    said.say("source", entry.source);
    said.say("version", entry.version);
    said.say("updatedAt", entry.updated_at);
    said.quote("title", &entry.title);
    said.quote("tags", &entry.tags);
    said.quote("author", &entry.author);
    said.quote("updatedBy", Some(&entry.updated_by).filter(|by| **by != entry.author));
    Row { name: entry.id.to_string(), said }
}
