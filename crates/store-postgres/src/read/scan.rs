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
    let after = after.map(parse).transpose()?;
    let mut script = Script::default();
    let most = Script::limit(SCAN_ROWS);
    let (row, name, order) = match table {
        ScanTable::Items => (ITEM, "items i", "i.project_id, i.number"),
        ScanTable::Edges => (EDGE, "edges e", "e.id"),
        ScanTable::Notes => (NOTE, "notes n", "n.item_id, n.key"),
    };
    let begin = match (after, table) {
        (None, _) => "true".to_owned(),
        (Some((leader, rest)), ScanTable::Items) => {
            let (leader, number) = (script.uuid(leader), script.int(rest.parse().unwrap_or(0)));
            format!("({order}) > ({leader}, {number})")
        }
        (Some((leader, _)), ScanTable::Edges) => format!("{order} > {}", script.uuid(leader)),
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

/// Where the next page begins: after the last row of a full one.
fn last_of_page<T>(rows: &[T], cursor: impl FnOnce(&T) -> String) -> Option<String> {
    rows.last().filter(|_| rows.len() == SCAN_ROWS).map(cursor)
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
