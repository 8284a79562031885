//! A tree of 200 items with edges and notes in one transaction, beside the same rows inserted by hand.
//!
//! The baseline inserts the very rows that the product made: they are read from its database, and then go into a copy of
//! it in one commit, row by row through one prepared statement for each table.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use docket_core::command::{Create, End, NewEdge, NewItem, NewNote, Parent};
use docket_core::model::{EdgeKind, Role, Summary, Text, Title};
use docket_core::search;
use docket_store_sqlite::Durability;
use rusqlite::types::Value;

use crate::base::{Base, call_by, name, runtime};
use crate::raw::{Cells, Raw, cell};
use crate::report::{Bound, Row, Unit};
use crate::stage::{Stage, copy};
use crate::stats::Samples;

const ITEMS: usize = 200;
/// Columns that a database numbers by itself.
const NUMBERED: [&str; 2] = ["pk", "seq"];

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    runtime()?.block_on(async {
        let folder = stage.folder("tree")?;
        let empty = folder.join("ours.db");
        Base::open(&empty, Durability::Full).await?.close().await;
        let copied = copy(&empty, &folder.join("raw.db"))?;
        let ours = Base::open(&empty, Durability::Full).await?;
        let mut reader = Raw::open(&empty)?;
        let mut raw = Raw::open(&copied)?;
        let (mut created, mut inserted) = (Samples::default(), Samples::default());
        let mut seen = 0;
        for round in 0..=stage.pick(15, 5) {
            let tree = tree(&ours)?;
            let commits = ours.commits();
            let call = call_by("planner")?;
            let begun = Instant::now();
            let made = ours.engine.run(call, tree).await?;
            let elapsed = begun.elapsed();
            ensure!(made.items.iter().all(Result::is_ok), "an item was refused");
            ensure!(ours.commits() == commits + 1, "a tree took more than one commit");
            let again = insert_again(&mut reader, &mut raw, &mut seen)?;
            if round > 0 {
                created.time(elapsed);
                inserted.time(again);
            }
        }
        ours.close().await;
        let (made, copied) = (count(&mut reader)?, count(&mut raw)?);
        ensure!(made == copied, "{made:?} rows were made and {copied:?} inserted by hand");
        reader.close()?;
        raw.close()?;
        let name = format!("a tree of {ITEMS} items with edges and notes, to raw inserts");
        Ok(vec![Row::versus(name, Unit::Seconds, created.median(), inserted.median(), Bound::AtMost(2.0))])
    })
}

/// A root, features beneath it, tasks beneath those: each task waits for the one before it, and each item has a note.
fn tree(base: &Base) -> Result<Create> {
    let mut create = Create {
        project: base.project(),
        items: Vec::new(),
        edges: Vec::new(),
        notes: Vec::new(),
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let local = |place: usize| format!("t{place}");
    for place in 0..ITEMS {
        let parent = match place {
            0 => None,
            1..=9 => Some(0),
            _ => Some(place % 9 + 1),
        };
        let title = Title::parse(&format!("Task {place} of a plan that somebody thought about"))
            .map_err(docket_core::Error::from)?;
        let summary = Summary::parse("What is to be done here, in one sentence of ordinary length.")
            .map_err(docket_core::Error::from)?;
        create.items.push(NewItem {
            local: Some(local(place)),
            parent: parent.map(|parent| Parent::Local(local(parent))),
            summary: Some(summary),
            ..NewItem::titled(title)
        });
        create.notes.push(NewNote {
            local: local(place),
            key: name("requirements")?,
            phase: Role::Queue,
            body: Text::parse(&"It must do what it says. ".repeat(16)).map_err(docket_core::Error::from)?,
        });
        if place >= 19 {
            create.edges.push(NewEdge {
                from: End::Local(local(place - 9)),
                to: End::Local(local(place)),
                kind: EdgeKind::Blocks,
                unblock_at: None,
                inverse: false,
            });
        }
    }
    Ok(create)
}

/// Reads the rows that came last and inserts them into another database; returns how long the latter took.
fn insert_again(reader: &mut Raw, raw: &mut Raw, seen: &mut i64) -> Result<Duration> {
    let items: Vec<Cells> =
        reader.rows(&format!("SELECT * FROM items ORDER BY pk DESC LIMIT {ITEMS}"))?.into_iter().rev().collect();
    let mut inserts = vec![Insert::of("items", &items)?, Insert::words(&items)?];
    for table in ["edges", "notes", "events"] {
        let sql = match table {
            "events" => format!("SELECT * FROM events WHERE seq > {seen} AND item_id IS NOT NULL ORDER BY seq"),
            _ => format!(
                "SELECT * FROM {table} WHERE pk > (SELECT max(pk) FROM {table}) - {ITEMS} AND EXISTS \
                 (SELECT 1 FROM items i WHERE i.id = {table}.{} AND i.pk > (SELECT max(pk) FROM items) - {ITEMS}) ORDER BY pk",
                if table == "edges" { "to_id" } else { "item_id" }
            ),
        };
        let rows = reader.rows(&sql)?;
        if let (Some(last), "events") = (rows.last(), table)
            && let Value::Integer(last) = cell(last, "seq")?
        {
            *seen = *last;
        }
        inserts.push(Insert::of(table, &rows)?);
    }
    let begun = Instant::now();
    raw.run("BEGIN IMMEDIATE", &[])?;
    for insert in &inserts {
        for row in &insert.rows {
            raw.run(&insert.sql, row)?;
        }
    }
    raw.run("COMMIT", &[])?;
    Ok(begun.elapsed())
}

/// How many rows there are of each kind.
fn count(raw: &mut Raw) -> Result<Vec<Cells>> {
    let counts =
        ["items", "items_fts", "edges", "notes", "events"].map(|table| format!("(SELECT count(*) FROM {table})"));
    raw.rows(&format!("SELECT {}", counts.join(", ")))
}

/// A statement that inserts a row, and the rows.
struct Insert {
    sql: String,
    rows: Vec<Vec<Value>>,
}

impl Insert {
    fn of(table: &str, rows: &[Cells]) -> Result<Self> {
        let is_ours = |(column, _): &&(String, Value)| !NUMBERED.contains(&column.as_str());
        let first = rows.first().with_context(|| format!("nothing was made in {table}"))?;
        let columns: Vec<&str> = first.iter().filter(is_ours).map(|(column, _)| column.as_str()).collect();
        let cells = |row: &Cells| row.iter().filter(is_ours).map(|(_, value)| value.clone()).collect();
        Ok(Self { sql: insert(table, &columns), rows: rows.iter().map(cells).collect() })
    }

    /// What search knows of the items; it cannot be read back.
    fn words(items: &[Cells]) -> Result<Self> {
        let words = |item: &Cells| {
            let (Value::Text(title), Value::Text(summary)) = (cell(item, "title")?, cell(item, "summary")?) else {
                anyhow::bail!("an item without a title");
            };
            Ok(vec![cell(item, "pk")?.clone(), search::fold(&format!("{title} {summary}")).into()])
        };
        let rows = items.iter().map(words).collect::<Result<_>>()?;
        Ok(Self { sql: insert("items_fts", &["rowid", "words"]), rows })
    }
}

fn insert(table: &str, columns: &[&str]) -> String {
    format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), vec!["?"; columns.len()].join(", "))
}
