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
pub(crate) fn notes_by_id(link: &mut Link, ids: &[NoteId], visible: &Visible) -> Result<Vec<Note>, StoreError> {
    let mut script = Script::default();
    let asked = script.uuids(ids.iter().map(|id| id.as_uuid()));
    let seen = Limit::of(&mut script, visible).and_item("n.item_id");
    script.add(format!(
        "SELECT json_group_array({NOTE}) FROM json_each({asked}) j CROSS JOIN notes n ON n.id = unhex(j.value){seen}"
    ));
    let rows: Vec<NoteRow> = link.ask(&script)?;
    Ok(models(rows))
}

/// The next page. Its cursor names its last row: the id that leads the order, then what follows it.
pub(crate) fn scan(link: &mut Link, table: ScanTable, after: Option<&str>) -> Result<ScanPage, StoreError> {
    let script = compose(table, after)?;
    let (rows, next) = match table {
        ScanTable::Items => {
            let place = |item: &Item| cursor(item.project.as_uuid(), &item.number.to_string());
            let (items, next) = page::<ItemRow, Item>(link, &script, place)?;
            (ScanRows::Items(items), next)
        }
        ScanTable::Edges => {
            let (edges, next) = page::<EdgeRow, Edge>(link, &script, |edge| cursor(edge.id.as_uuid(), ""))?;
            (ScanRows::Edges(edges), next)
        }
        ScanTable::Notes => {
            let place = |note: &Note| cursor(note.item.as_uuid(), note.key.as_str());
            let (notes, next) = page::<NoteRow, Note>(link, &script, place)?;
            (ScanRows::Notes(notes), next)
        }
        ScanTable::Briefs => {
            let place = |(item, _): &(ItemId, Brief)| cursor(item.as_uuid(), "");
            let (briefs, next) = page::<BriefRow, (ItemId, Brief)>(link, &script, place)?;
            (ScanRows::Briefs(briefs), next)
        }
        ScanTable::Questions => {
            let place = |question: &Question| cursor(Uuid::from_u128(question.id.0.0), "");
            let (questions, next) = page::<QuestionRow, Question>(link, &script, place)?;
            (ScanRows::Questions(questions), next)
        }
        ScanTable::Comments => {
            let place = |comment: &Comment| cursor(Uuid::from_u128(comment.id.0.0), "");
            let (comments, next) = page::<CommentRow, Comment>(link, &script, place)?;
            (ScanRows::Comments(comments), next)
        }
        ScanTable::Entries => {
            let place = |entry: &Entry| cursor(Uuid::from_u128(entry.id.0.0), "");
            let (entries, next) = page::<EntryRow, Entry>(link, &script, place)?;
            (ScanRows::Entries(entries), next)
        }
        ScanTable::EntryLinks => {
            let place = |link: &EntryLink| {
                let rest = format!("{} {}", link.item.as_uuid().simple(), link.kind.code());
                cursor(Uuid::from_u128(link.entry.0.0), &rest)
            };
            let (links, next) = page::<EntryLinkRow, EntryLink>(link, &script, place)?;
            (ScanRows::EntryLinks(links), next)
        }
        ScanTable::Links => {
            let place = |link: &Reference| cursor(Uuid::from_u128(link.id.0.0), "");
            let (links, next) = page::<LinkRow, Reference>(link, &script, place)?;
            (ScanRows::Links(links), next)
        }
        ScanTable::Sessions => {
            let place = |session: &Session| cursor(Uuid::from_u128(session.id.0.0), "");
            let (sessions, next) = page::<SessionRow, Session>(link, &script, place)?;
            (ScanRows::Sessions(sessions), next)
        }
    };
    Ok(ScanPage { rows, next })
}

/// Rows of a page, and where the next one begins: after the last row of a full one.
fn page<R: DeserializeOwned + Into<M>, M>(
    link: &mut Link,
    script: &Script,
    place: impl FnOnce(&M) -> String,
) -> Result<(Vec<M>, Option<String>), StoreError> {
    let rows: Vec<R> = link.ask(script)?;
    let rows: Vec<M> = models(rows);
    let next = rows.last().filter(|_| rows.len() == SCAN_ROWS).map(place);
    Ok((rows, next))
}

fn compose(table: ScanTable, after: Option<&str>) -> Result<Script, StoreError> {
    // No id is shorter than 16 bytes, so the empty one comes before all.
    let (leader, rest) = after.map(parse).transpose()?.unwrap_or_default();
    let mut script = Script::default();
    let most = script.limit(SCAN_ROWS);
    let leader = script.blob(leader);
    let by = |id: &str, table: &str, row: &str| {
        format!("(SELECT * FROM {table} WHERE {id} > {leader} ORDER BY {id} LIMIT {most}) {row}")
    };
    let (row, page) = match table {
        ScanTable::Items => {
            let number = script.int(rest.parse().unwrap_or(0));
            let after = format!("(project_id, number) > ({leader}, {number}) ORDER BY project_id, number");
            (ITEM.as_str(), format!("(SELECT * FROM items WHERE {after} LIMIT {most}) i"))
        }
        ScanTable::Edges => (EDGE, by("id", "edges", "e")),
        ScanTable::Briefs => (BRIEF, by("item_id", "briefs", "b")),
        ScanTable::Questions => (QUESTION, by("id", "questions", "q")),
        ScanTable::Comments => (COMMENT, by("id", "comments", "t")),
        ScanTable::Links => (LINK, by("id", "links", "u")),
        ScanTable::Entries => (ENTRY, by("id", "knowledge", "k")),
        ScanTable::EntryLinks => {
            let (item, kind) = rest.split_once(' ').unwrap_or_default();
            let item =
                script.blob(Uuid::try_parse(item).map_or_else(|_| Vec::new(), |item| item.into_bytes().to_vec()));
            let kind = script.int(kind.parse().unwrap_or(-1));
            let after =
                format!("(entry_id, item_id, kind) > ({leader}, {item}, {kind}) ORDER BY entry_id, item_id, kind");
            (ENTRY_LINK, format!("(SELECT * FROM knowledge_links WHERE {after} LIMIT {most}) l"))
        }
        ScanTable::Sessions => (SESSION, by("id", "sessions", "a")),
        ScanTable::Notes => {
            let key = script.text(rest);
            let after = format!("(item_id, key) > ({leader}, {key}) ORDER BY item_id, key");
            (NOTE, format!("(SELECT * FROM notes WHERE {after} LIMIT {most}) n"))
        }
    };
    script.add(format!("SELECT json_group_array({row}) FROM {page}"));
    Ok(script)
}

fn cursor(leader: Uuid, rest: &str) -> String {
    format!("{} {rest}", leader.simple())
}

fn parse(cursor: &str) -> Result<(Vec<u8>, String), StoreError> {
    let bad = || failed("this is no cursor of a scan");
    let (leader, rest) = cursor.split_once(' ').ok_or_else(bad)?;
    let leader = Uuid::try_parse(leader).map_err(|_| bad())?;
    Ok((leader.into_bytes().to_vec(), rest.to_owned()))
}
