//! Every row of a table in a stable order, a page at a time; and notes by id.

use docket_core::model::{Edge, Item, Note, NoteId};
use docket_core::store::{ScanPage, ScanRows, ScanTable, StoreError, Visible};
use uuid::Uuid;

use super::limit::Limit;
use crate::error::failed;
use crate::options::SCAN_ROWS;
use crate::pool::Link;
use crate::row::{EDGE, EdgeRow, ITEM, ItemRow, NOTE, NoteRow, models};
use crate::script::Script;

/// Whole notes by id, in the order asked for; what is not there is left out.
pub(crate) async fn notes_by_id(link: &mut Link, ids: &[NoteId], visible: &Visible) -> Result<Vec<Note>, StoreError> {
    let mut script = Script::default();
    let asked = script.uuids(ids.iter().map(|id| id.as_uuid()));
    let seen = Limit::of(&mut script, visible).and_item("n.item_id");
    script.add(&format!(
        "SELECT json_group_array({NOTE}) FROM json_each({asked}) j CROSS JOIN notes n ON n.id = unhex(j.value){seen}"
    ));
    let rows: Vec<NoteRow> = link.ask(script).await?;
    Ok(models(rows))
}

/// The next page. Its cursor names its last row: the id that leads the order, then what follows it.
pub(crate) async fn scan(link: &mut Link, table: ScanTable, after: Option<&str>) -> Result<ScanPage, StoreError> {
    let script = compose(table, after)?;
    let (rows, last) = match table {
        ScanTable::Items => {
            let rows: Vec<ItemRow> = link.ask(script).await?;
            let items: Vec<Item> = models(rows);
            let last = last_of_page(&items, |item| cursor(item.project.as_uuid(), &item.number.to_string()));
            (ScanRows::Items(items), last)
        }
        ScanTable::Edges => {
            let rows: Vec<EdgeRow> = link.ask(script).await?;
            let edges: Vec<Edge> = models(rows);
            let last = last_of_page(&edges, |edge| cursor(edge.id.as_uuid(), ""));
            (ScanRows::Edges(edges), last)
        }
        ScanTable::Notes => {
            let rows: Vec<NoteRow> = link.ask(script).await?;
            let notes: Vec<Note> = models(rows);
            let last = last_of_page(&notes, |note| cursor(note.item.as_uuid(), note.key.as_str()));
            (ScanRows::Notes(notes), last)
        }
    };
    Ok(ScanPage { rows, next: last })
}

fn compose(table: ScanTable, after: Option<&str>) -> Result<Script, StoreError> {
    // No id is shorter than 16 bytes, so the empty one comes before all.
    let (leader, rest) = after.map(parse).transpose()?.unwrap_or_default();
    let mut script = Script::default();
    let most = script.limit(SCAN_ROWS);
    let leader = script.blob(leader);
    let (row, page) = match table {
        ScanTable::Items => {
            let number = script.int(rest.parse().unwrap_or(0));
            let after = format!("(project_id, number) > ({leader}, {number}) ORDER BY project_id, number");
            (ITEM, format!("(SELECT * FROM items WHERE {after} LIMIT {most}) i"))
        }
        ScanTable::Edges => (EDGE, format!("(SELECT * FROM edges WHERE id > {leader} ORDER BY id LIMIT {most}) e")),
        ScanTable::Notes => {
            let key = script.text(rest);
            let after = format!("(item_id, key) > ({leader}, {key}) ORDER BY item_id, key");
            (NOTE, format!("(SELECT * FROM notes WHERE {after} LIMIT {most}) n"))
        }
    };
    script.add(&format!("SELECT json_group_array({row}) FROM {page}"));
    Ok(script)
}

/// Where the next page begins: after the last row of a full one.
fn last_of_page<T>(rows: &[T], cursor: impl FnOnce(&T) -> String) -> Option<String> {
    rows.last().filter(|_| rows.len() == SCAN_ROWS).map(cursor)
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
