//! Every row of a table in a stable order, a page at a time; and notes by id.

use docket_core::model::{Note, NoteId};
use docket_core::store::{ScanPage, ScanRows, ScanTable, StoreError};
use uuid::Uuid;

use crate::error::{failed, store_error};
use crate::options::SCAN_ROWS;
use crate::pool::Link;
use crate::row::{self, Cells, EDGE_COLUMNS, ITEM_COLUMNS, NOTE_COLUMNS};
use crate::script::Script;

/// Whole notes by id, in the order asked for; what is not there is left out.
pub(crate) async fn notes_by_id(link: &mut Link, ids: &[NoteId]) -> Result<Vec<Note>, StoreError> {
    let mut script = Script::default();
    let ids = script.uuids(ids.iter().map(|id| id.as_uuid()));
    script.add(&format!(
        "SELECT {NOTE_COLUMNS} FROM json_each({ids}) j CROSS JOIN notes n ON n.id = unhex(j.value) ORDER BY j.key"
    ));
    let rows = link.run(script).await.map_err(store_error)?;
    rows.iter().map(|row| row::read_note(&mut Cells::new(row))).collect()
}

/// The next page. A page's cursor names its last row: the id that leads the order, then what follows it.
pub(crate) async fn scan(link: &mut Link, table: ScanTable, after: Option<&str>) -> Result<ScanPage, StoreError> {
    // No id is shorter than 16 bytes, so the empty one comes before all.
    let (leader, rest) = after.map(parse).transpose()?.unwrap_or_default();
    let mut script = Script::default();
    let most = script.size(SCAN_ROWS + 1);
    let leader = script.blob(leader);
    let sql = match table {
        ScanTable::Items => {
            let number = script.int(rest.parse().unwrap_or(0));
            let page = format!("(i.project_id, i.number) > ({leader}, {number}) ORDER BY i.project_id, i.number");
            format!("SELECT {ITEM_COLUMNS} FROM items i WHERE {page}")
        }
        ScanTable::Edges => format!("SELECT {EDGE_COLUMNS} FROM edges e WHERE e.id > {leader} ORDER BY e.id"),
        ScanTable::Notes => {
            let key = script.text(rest);
            let page = format!("(n.item_id, n.key) > ({leader}, {key}) ORDER BY n.item_id, n.key");
            format!("SELECT {NOTE_COLUMNS} FROM notes n WHERE {page}")
        }
    };
    script.add(&format!("{sql} LIMIT {most}"));
    let rows = link.run(script).await.map_err(store_error)?;
    let more = rows.len() > SCAN_ROWS;
    let page = rows.iter().take(SCAN_ROWS).map(Cells::new);
    let (rows, last) = match table {
        ScanTable::Items => {
            let items = page.map(|mut cells| row::read_item(&mut cells)).collect::<Result<Vec<_>, _>>()?;
            let last = items.last().map(|item| cursor(item.project.as_uuid(), &item.number.to_string()));
            (ScanRows::Items(items), last)
        }
        ScanTable::Edges => {
            let edges = page.map(|mut cells| row::read_edge(&mut cells)).collect::<Result<Vec<_>, _>>()?;
            let last = edges.last().map(|edge| cursor(edge.id.as_uuid(), ""));
            (ScanRows::Edges(edges), last)
        }
        ScanTable::Notes => {
            let notes = page.map(|mut cells| row::read_note(&mut cells)).collect::<Result<Vec<_>, _>>()?;
            let last = notes.last().map(|note| cursor(note.item.as_uuid(), note.key.as_str()));
            (ScanRows::Notes(notes), last)
        }
    };
    Ok(ScanPage { rows, next: last.filter(|_| more) })
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
