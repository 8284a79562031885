//! Every row of a table in a stable order, a page at a time; and notes by id.

use docket_core::model::{
    Brief, Comment, Edge, Entry, EntryLink, Item, ItemId, Link as Reference, Note, NoteId, Question, Session,
};
use docket_core::store::code::Coded;
use docket_core::store::row::{
    BriefRow, CommentRow, EdgeRow, EntryLinkRow, EntryRow, ItemRow, LinkRow, NoteRow, QuestionRow, SessionRow, models,
};
use docket_core::store::{ScanPage, ScanRows, ScanTable, StoreError, Visible};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::limit::Limit;
use crate::error::failed;
use crate::options::SCAN_ROWS;
use crate::pool::Link;
use crate::row::{BRIEF, COMMENT, EDGE, ENTRY, ENTRY_LINK, ITEM, LINK, NOTE, QUESTION, SESSION};
use crate::script::Script;

/// Whole notes by id, in the order asked for; what is not there is left out.
pub(crate) async fn notes_by_id(link: &mut Link, ids: &[NoteId], visible: &Visible) -> Result<Vec<Note>, StoreError> {
    let mut script = Script::default();
    let asked = script.uuids(ids.iter().map(|id| id.as_uuid()));
    let seen = Limit::of(&mut script, visible).and_item("n.item_id");
    script.set(format!(
        "SELECT coalesce(json_agg({NOTE} ORDER BY a.place), '[]')::text \
         FROM unnest({asked}) WITH ORDINALITY a (id, place) JOIN notes n ON n.id = a.id{seen}"
    ));
    let rows: Vec<NoteRow> = link.ask(script).await?;
    Ok(models(rows))
}

/// The next page. Its cursor names its last row: the id that leads the order, then what follows it.
pub(crate) async fn scan(link: &mut Link, table: ScanTable, after: Option<&str>) -> Result<ScanPage, StoreError> {
    let script = compose(table, after)?;
    let (rows, next) = match table {
        ScanTable::Items => {
            let place = |item: &Item| cursor(item.project.as_uuid(), &item.number.to_string());
            let (items, next) = page::<ItemRow, Item>(link, script, place).await?;
            (ScanRows::Items(items), next)
        }
        ScanTable::Edges => {
            let (edges, next) = page::<EdgeRow, Edge>(link, script, |edge| cursor(edge.id.as_uuid(), "")).await?;
            (ScanRows::Edges(edges), next)
        }
        ScanTable::Notes => {
            let place = |note: &Note| cursor(note.item.as_uuid(), note.key.as_str());
            let (notes, next) = page::<NoteRow, Note>(link, script, place).await?;
            (ScanRows::Notes(notes), next)
        }
        ScanTable::Briefs => {
            let place = |(item, _): &(ItemId, Brief)| cursor(item.as_uuid(), "");
            let (briefs, next) = page::<BriefRow, (ItemId, Brief)>(link, script, place).await?;
            (ScanRows::Briefs(briefs), next)
        }
        ScanTable::Questions => {
            let place = |question: &Question| cursor(Uuid::from_u128(question.id.0.0), "");
            let (questions, next) = page::<QuestionRow, Question>(link, script, place).await?;
            (ScanRows::Questions(questions), next)
        }
        ScanTable::Comments => {
            let place = |comment: &Comment| cursor(Uuid::from_u128(comment.id.0.0), "");
            let (comments, next) = page::<CommentRow, Comment>(link, script, place).await?;
            (ScanRows::Comments(comments), next)
        }
        ScanTable::Entries => {
            let place = |entry: &Entry| cursor(Uuid::from_u128(entry.id.0.0), "");
            let (entries, next) = page::<EntryRow, Entry>(link, script, place).await?;
            (ScanRows::Entries(entries), next)
        }
        ScanTable::EntryLinks => {
            let place = |link: &EntryLink| {
                let rest = format!("{} {}", link.item.as_uuid().simple(), link.kind.code());
                cursor(Uuid::from_u128(link.entry.0.0), &rest)
            };
            let (links, next) = page::<EntryLinkRow, EntryLink>(link, script, place).await?;
            (ScanRows::EntryLinks(links), next)
        }
        ScanTable::Links => {
            let place = |link: &Reference| cursor(Uuid::from_u128(link.id.0.0), "");
            let (links, next) = page::<LinkRow, Reference>(link, script, place).await?;
            (ScanRows::Links(links), next)
        }
        ScanTable::Sessions => {
            let place = |session: &Session| cursor(Uuid::from_u128(session.id.0.0), "");
            let (sessions, next) = page::<SessionRow, Session>(link, script, place).await?;
            (ScanRows::Sessions(sessions), next)
        }
    };
    Ok(ScanPage { rows, next })
}

/// Rows of a page, and where the next one begins: after the last row of a full one.
async fn page<R: DeserializeOwned + Into<M>, M>(
    link: &mut Link,
    script: Script,
    place: impl FnOnce(&M) -> String,
) -> Result<(Vec<M>, Option<String>), StoreError> {
    let rows: Vec<R> = link.ask(script).await?;
    let rows: Vec<M> = models(rows);
    let next = rows.last().filter(|_| rows.len() == SCAN_ROWS).map(place);
    Ok((rows, next))
}

fn compose(table: ScanTable, after: Option<&str>) -> Result<Script, StoreError> {
    let after = after.map(parse).transpose()?;
    let mut script = Script::default();
    let most = Script::limit(SCAN_ROWS);
    let (row, name, order) = match table {
        ScanTable::Items => (ITEM, "items i", "i.project_id, i.number"),
        ScanTable::Edges => (EDGE, "edges e", "e.id"),
        ScanTable::Notes => (NOTE, "notes n", "n.item_id, n.key"),
        ScanTable::Briefs => (BRIEF, "briefs b", "b.item_id"),
        ScanTable::Questions => (QUESTION, "questions q", "q.id"),
        ScanTable::Comments => (COMMENT, "comments t", "t.id"),
        ScanTable::Links => (LINK, "links u", "u.id"),
        ScanTable::Entries => (ENTRY, "knowledge k", "k.id"),
        ScanTable::EntryLinks => (ENTRY_LINK, "knowledge_links l", "l.entry_id, l.item_id, l.kind"),
        ScanTable::Sessions => (SESSION, "sessions a", "a.id"),
    };
    let begin = match (after, table) {
        (None, _) => "true".to_owned(),
        (Some((leader, rest)), ScanTable::Items) => {
            let (leader, number) = (script.uuid(leader), script.int(rest.parse().unwrap_or(0)));
            format!("({order}) > ({leader}, {number})")
        }
        (
            Some((leader, _)),
            ScanTable::Edges
            | ScanTable::Briefs
            | ScanTable::Questions
            | ScanTable::Comments
            | ScanTable::Links
            | ScanTable::Entries
            | ScanTable::Sessions,
        ) => format!("{order} > {}", script.uuid(leader)),
        (Some((leader, rest)), ScanTable::EntryLinks) => {
            let (item, kind) = rest.split_once(' ').unwrap_or_default();
            let leader = script.uuid(leader);
            let item = script.uuid(Uuid::try_parse(item).unwrap_or(Uuid::nil()));
            let kind = script.int(kind.parse().unwrap_or(-1));
            format!("({order}) > ({leader}, {item}, {kind})")
        }
        (Some((leader, rest)), ScanTable::Notes) => {
            let (leader, key) = (script.uuid(leader), script.text(rest));
            format!("({order}) > ({leader}, {key})")
        }
    };
    let alias = name.rsplit(' ').next().unwrap_or(name);
    script.set(format!(
        "SELECT coalesce(json_agg({row} ORDER BY {order}), '[]')::text \
         FROM (SELECT * FROM {name} WHERE {begin} ORDER BY {order} LIMIT {most}) {alias}"
    ));
    Ok(script)
}

fn cursor(leader: Uuid, rest: &str) -> String {
    format!("{} {rest}", leader.simple())
}

fn parse(cursor: &str) -> Result<(Uuid, String), StoreError> {
    let bad = || failed("this is no cursor of a scan");
    let (leader, rest) = cursor.split_once(' ').ok_or_else(bad)?;
    let leader = Uuid::try_parse(leader).map_err(|_| bad())?;
    Ok((leader, rest.to_owned()))
}
