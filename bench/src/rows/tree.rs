//! A tree of 200 items with edges and notes in one transaction, beside the same rows inserted by hand.
//!
//! The baseline inserts the very rows that the product made: they are read from its database, and then go into a copy of
//! it in one round trip and one commit, each table by one prepared statement with a list of rows.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use docket_core::command::{Create, End, NewEdge, NewItem, NewNote, Parent};
use docket_core::model::{EdgeKind, Role, Summary, Text, Title};
use docket_core::search;
use docket_store_sqlite::Durability;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Column as _, Row as _};

use crate::base::{Base, call_by, name, runtime};
use crate::raw::{Raw, Values};
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
        let mut reader = Raw::open(&empty).await?;
        let mut raw = Raw::open(&copied).await?;
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
            let again = insert_again(&mut reader, &mut raw, &mut seen).await?;
            if round > 0 {
                created.time(elapsed);
                inserted.time(again);
            }
        }
        ours.close().await;
        let (made, copied) = (count(&mut reader).await?, count(&mut raw).await?);
        ensure!(made == copied, "{made:?} rows were made and {copied:?} inserted by hand");
        reader.close().await?;
        raw.close().await?;
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
async fn insert_again(reader: &mut Raw, raw: &mut Raw, seen: &mut i64) -> Result<Duration> {
    let mut script = Insert::default();
    let items = reader.run("SELECT * FROM items ORDER BY pk DESC LIMIT 200", SqliteArguments::default()).await?;
    let items: Vec<SqliteRow> = items.into_iter().rev().collect();
    script.rows("items", &items)?;
    script.words(&items)?;
    for table in ["edges", "notes", "events"] {
        let key = if table == "events" { "seq" } else { "pk" };
        let sql = match table {
            "events" => format!("SELECT * FROM events WHERE seq > {seen} AND item_id IS NOT NULL ORDER BY seq"),
            _ => format!(
                "SELECT * FROM {table} WHERE {key} > (SELECT max({key}) FROM {table}) - {ITEMS} AND EXISTS \
                 (SELECT 1 FROM items i WHERE i.id = {table}.{} AND i.pk > (SELECT max(pk) FROM items) - {ITEMS}) ORDER BY {key}",
                if table == "edges" { "to_id" } else { "item_id" }
            ),
        };
        let rows = reader.run(&sql, SqliteArguments::default()).await?;
        if let (Some(last), "events") = (rows.last(), table) {
            *seen = last.try_get("seq")?;
        }
        script.rows(table, &rows)?;
    }
    let begun = Instant::now();
    raw.run(&format!("BEGIN IMMEDIATE;\n{}COMMIT;", script.sql), script.values.done()).await?;
    Ok(begun.elapsed())
}

/// How many rows there are of each kind.
async fn count(raw: &mut Raw) -> Result<Vec<i64>> {
    let mut counts = Vec::new();
    for table in ["items", "items_fts", "edges", "notes", "events"] {
        let rows = raw.run(&format!("SELECT count(*) FROM {table}"), SqliteArguments::default()).await?;
        counts.push(rows.first().context("no count")?.try_get(0)?);
    }
    Ok(counts)
}

/// Statements that insert rows, with their values.
#[derive(Default)]
struct Insert {
    sql: String,
    values: Values,
}

impl Insert {
    fn rows(&mut self, table: &str, rows: &[SqliteRow]) -> Result<()> {
        let Some(first) = rows.first() else { return Ok(()) };
        let columns: Vec<(usize, &str)> = first
            .columns()
            .iter()
            .map(|column| (column.ordinal(), column.name()))
            .filter(|(_, name)| !NUMBERED.contains(name))
            .collect();
        let names: Vec<&str> = columns.iter().map(|(_, name)| *name).collect();
        self.begin(table, &names.join(", "));
        for (place, row) in rows.iter().enumerate() {
            for (column, _) in &columns {
                self.values.add_cell(row, *column)?;
            }
            self.add_row(columns.len(), place == 0);
        }
        self.sql.push_str(";\n");
        Ok(())
    }

    /// What search knows of the items; it cannot be read back.
    fn words(&mut self, items: &[SqliteRow]) -> Result<()> {
        self.begin("items_fts", "rowid, words");
        for (place, item) in items.iter().enumerate() {
            let words = format!("{} {}", item.try_get::<String, _>("title")?, item.try_get::<String, _>("summary")?);
            self.values.add(item.try_get::<i64, _>("pk")?)?;
            self.values.add(search::fold(&words))?;
            self.add_row(2, place == 0);
        }
        self.sql.push_str(";\n");
        Ok(())
    }

    fn begin(&mut self, table: &str, columns: &str) {
        self.sql.extend(["INSERT INTO ", table, " (", columns, ") VALUES "]);
    }

    fn add_row(&mut self, count: usize, is_first: bool) {
        // Without names: SQLite looks a name up by walking all of them.
        let comma = if is_first { "" } else { ", " };
        self.sql.extend([comma, "(", &vec!["?"; count].join(", "), ")"]);
    }
}
