//! One look at the database: statements that build on what those before them found, and the document that they fill.
//!
//! A single statement would have to keep each of its parts in a table that is made and thrown away, which costs more than
//! most of what is looked for. So what a part found is kept here and bound as a list to the statements that build on it;
//! what builds on nothing is not asked at all. How many statements there are follows from the scope, not from the rows.

use docket_core::store::row::{ItemRow, Seen};
use docket_core::store::{StoreError, Visible};
use rusqlite::Error::FromSqlConversionFailure;
use rusqlite::Row;
use rusqlite::types::Type;
use uuid::Uuid;

use super::limit::Limit;
use crate::cells;
use crate::error::Trouble;
use crate::pool::Link;
use crate::row::ITEM_WIDTH;
use crate::script::Script;

/// The statements of one look, in a transaction that somebody else began.
pub(super) struct Look<'l> {
    source: Source<'l>,
    visible: &'l Visible,
    /// The database's time.
    now: i64,
    /// A JSON object by names of results, not closed yet.
    document: String,
    /// What is not in it: the rows that every look has.
    items: Vec<ItemRow>,
}

/// Where rows come from.
enum Source<'l> {
    Database(&'l mut Link),
    /// So many made-up rows for every statement, which is kept to be looked at.
    #[cfg(test)]
    MadeUp {
        rows: usize,
        scripts: Vec<Script>,
    },
}

/// As long as most documents get, so that they grow in place.
const DOCUMENT: usize = 4096;

impl<'l> Look<'l> {
    /// A look for whoever may see these projects.
    pub(super) fn new(link: &'l mut Link, visible: &'l Visible) -> Self {
        Self::at(Source::Database(link), visible)
    }

    fn at(source: Source<'l>, visible: &'l Visible) -> Self {
        Self { source, visible, now: 0, document: String::with_capacity(DOCUMENT), items: Vec::new() }
    }

    /// A look that asks no database: every statement finds so many rows.
    #[cfg(test)]
    pub(super) fn made_up(rows: usize, visible: &'l Visible) -> Self {
        Self::at(Source::MadeUp { rows, scripts: Vec::new() }, visible)
    }

    /// What was asked of no database.
    #[cfg(test)]
    pub(super) fn scripts(self) -> Vec<Script> {
        match self.source {
            Source::Database(_) => Vec::new(),
            Source::MadeUp { scripts, .. } => scripts,
        }
    }

    /// The database's time, for conditions.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    /// Sets the time, which is a result too.
    pub(super) fn set_now(&mut self, script: &Script) -> Result<(), Trouble> {
        let mut now = 0;
        self.each(script, |row| {
            now = row.get(0)?;
            Ok(())
        })?;
        self.now = now;
        self.name("now");
        self.document.push_str(&now.to_string());
        Ok(())
    }

    /// A statement in the making, and the projects that it may show.
    pub(super) fn begin(&self) -> (Script, Limit) {
        let mut script = Script::default();
        let limit = Limit::of(&mut script, self.visible);
        (script, limit)
    }

    /// Whether a project may be seen.
    pub(super) fn shows(&self, project: Uuid) -> bool {
        self.visible.as_ref().is_none_or(|visible| visible.iter().any(|id| id.as_uuid() == project))
    }

    /// Adds a result: a row for each that a statement returns, which is JSON in its first column. The other columns are ids
    /// that further statements build on: those that are not null, one after the other.
    pub(super) fn rows(&mut self, name: &'static str, script: &Script) -> Result<Vec<Uuid>, Trouble> {
        self.name(name);
        let mut document = std::mem::take(&mut self.document);
        document.push('[');
        let begun = document.len();
        let mut ids = Vec::new();
        let read = |row: &Row<'_>| {
            if document.len() > begun {
                document.push(',');
            }
            document.push_str(row.get_ref(0)?.as_str()?);
            push_ids(row, 1, &mut ids)
        };
        let read = self.each(script, read);
        document.push(']');
        self.document = document;
        read?;
        Ok(self.or_made_up(ids))
    }

    /// Adds items: a row for each that a statement returns. The columns after its cells are ids, as of [`Self::rows`].
    pub(super) fn items(&mut self, script: &Script) -> Result<Vec<Uuid>, Trouble> {
        let (mut items, mut ids) = (std::mem::take(&mut self.items), Vec::new());
        let read = |row: &Row<'_>| {
            let item = cells::read(row, ITEM_WIDTH);
            items.push(item.map_err(|error| FromSqlConversionFailure(0, Type::Null, error.into()))?);
            push_ids(row, ITEM_WIDTH, &mut ids)
        };
        let read = self.each(script, read);
        self.items = items;
        match read {
            // What cannot be read was not written by us: the connection is as good as before.
            Err(Trouble::Sql(FromSqlConversionFailure(_, _, error))) => {
                Err(Trouble::Rows(StoreError::Corrupt(Some(error))))
            }
            read => read.map(|()| self.or_made_up(ids)),
        }
    }

    /// Adds rows of what belongs to some items, whose ids are those of `s`; asks nothing where there are none.
    pub(super) fn attached(
        &mut self,
        name: &'static str,
        row: &str,
        joined: &str,
        items: &[Uuid],
    ) -> Result<(), Trouble> {
        if items.is_empty() {
            return Ok(());
        }
        let mut script = Script::default();
        let items = table(&mut script, items);
        script.add(format!("SELECT {row} FROM {items} s CROSS JOIN {joined}"));
        self.rows(name, &script)?;
        Ok(())
    }

    /// Adds several results by their names: those of the JSON object that a statement returns.
    pub(super) fn results(&mut self, script: &Script) -> Result<(), Trouble> {
        let mut results = String::new();
        self.each(script, |row| {
            results = row.get(0)?;
            Ok(())
        })?;
        if let Some(results) = results.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            self.comma();
            self.document.push_str(results);
        }
        Ok(())
    }

    /// All ids that a statement returns, in order.
    pub(super) fn ids(&mut self, script: &Script) -> Result<Vec<Uuid>, Trouble> {
        let mut ids = Vec::new();
        self.each(script, |row| push_ids(row, 0, &mut ids))?;
        Ok(self.or_made_up(ids))
    }

    /// Adds ids as a result, packed into one text.
    pub(super) fn pack(&mut self, name: &'static str, ids: &[Uuid]) {
        self.name(name);
        self.document.push('"');
        for id in ids {
            self.document.push_str(id.simple().encode_lower(&mut Uuid::encode_buffer()));
        }
        self.document.push('"');
    }

    /// Shows every row of a statement.
    pub(super) fn each(
        &mut self,
        script: &Script,
        read: impl FnMut(&Row<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), Trouble> {
        match &mut self.source {
            Source::Database(link) => link.each(script, read).map_err(Trouble::Sql),
            #[cfg(test)]
            Source::MadeUp { scripts, .. } => {
                scripts.push(script.clone());
                Ok(())
            }
        }
    }

    /// What was found; where rows are made up, ids that are.
    fn or_made_up(&self, found: Vec<Uuid>) -> Vec<Uuid> {
        match &self.source {
            Source::Database(_) => found,
            #[cfg(test)]
            Source::MadeUp { rows, .. } => (0..4 * *rows).map(|number| Uuid::from_u128(number as u128)).collect(),
        }
    }

    /// Reads the document.
    pub(super) fn finish(mut self) -> Result<Seen, Trouble> {
        self.document.push('}');
        let seen: Result<Seen, _> = serde_json::from_str(&self.document);
        let mut seen = seen.map_err(|error| Trouble::Rows(StoreError::Corrupt(Some(error.into()))))?;
        seen.add_items(self.items);
        Ok(seen)
    }

    fn comma(&mut self) {
        self.document.push(if self.document.is_empty() { '{' } else { ',' });
    }

    fn name(&mut self, name: &'static str) {
        self.comma();
        self.document.push('"');
        self.document.push_str(name);
        self.document.push_str("\":");
    }
}

/// Ids as a table of a statement, with the one column `id`.
pub(super) fn table(script: &mut Script, ids: &[Uuid]) -> String {
    match ids {
        [only] => format!("(SELECT {} AS id)", script.uuid(*only)),
        ids => format!("(SELECT unhex(value) AS id FROM json_each({}))", script.uuids(ids.iter().copied())),
    }
}

/// Each of them once, in the order in which they come.
pub(super) fn once(ids: impl IntoIterator<Item = Uuid>) -> Vec<Uuid> {
    let mut known = std::collections::HashSet::new();
    ids.into_iter().filter(|id| known.insert(*id)).collect()
}

/// The ids of a row from a column on.
fn push_ids(row: &Row<'_>, from: usize, ids: &mut Vec<Uuid>) -> Result<(), rusqlite::Error> {
    for column in from..row.as_ref().column_count() {
        if let Some(bytes) = row.get_ref(column)?.as_blob_or_null()? {
            ids.push(
                Uuid::from_slice(bytes).map_err(|error| FromSqlConversionFailure(column, Type::Blob, error.into()))?,
            );
        }
    }
    Ok(())
}
