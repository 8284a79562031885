//! A configuration file as a tree in which every key and value knows its place: what TOML and YAML have in common.
//!
//! Both readers ask for the keys they know; what nobody asked for is an unknown key, and the names that were asked for are
//! the valid ones.

use std::fmt;
use std::path::{Path, PathBuf};

use docket_core::{Invalid, echo};

use super::nearest::nearest;

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

/// What is wrong with a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    pub(crate) file: PathBuf,
    pub(crate) place: Option<Place>,
    pub(crate) key: String,
    pub(crate) message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", echo(&self.key))?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Place,
    pub(crate) value: Value,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Integer(i64),
    /// A fraction, a date, or anything else that no setting is.
    Other(&'static str),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Flag(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Other(kind) => kind,
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// One key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Place,
    pub(crate) node: Node,
}

/// A value being read: it knows its file and its key.
#[derive(Clone, Debug)]
pub(crate) struct Field<'n> {
    file: &'n Path,
    key: String,
    node: &'n Node,
}

impl<'n> Field<'n> {
    /// The whole file.
    pub(crate) fn root(file: &'n Path, node: &'n Node) -> Self {
        Self { file, key: String::new(), node }
    }

    /// The file that it stands in.
    pub(crate) fn file(&self) -> &'n Path {
        self.file
    }

    /// An error at this value.
    pub(crate) fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError {
            file: self.file.to_owned(),
            place: Some(self.node.at),
            key: self.key.clone(),
            message: message.into(),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.node.value == Value::Null
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.node.value, Value::Table(_))
    }

    pub(crate) fn text(&self) -> Result<&'n str, ConfigError> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            other => Err(self.mismatch("text", other)),
        }
    }

    pub(crate) fn flag(&self) -> Result<bool, ConfigError> {
        match &self.node.value {
            Value::Flag(flag) => Ok(*flag),
            other => Err(self.mismatch("true or false", other)),
        }
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self) -> Result<T, ConfigError> {
        match &self.node.value {
            Value::Integer(number) => {
                T::try_from(*number).map_err(|_| self.error(format!("{number} is too small or too large")))
            }
            other => Err(self.mismatch("a whole number", other)),
        }
    }

    /// A text that a parser of the model accepts.
    pub(crate) fn parsed_by<T>(&self, parse: impl Fn(&str) -> Result<T, Invalid>) -> Result<T, ConfigError> {
        parse(self.text()?).map_err(|invalid| self.error(invalid.message))
    }

    /// One of a few names.
    pub(crate) fn one_of<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, ConfigError> {
        let text = self.text()?;
        let plain = text.to_ascii_lowercase().replace('_', "-");
        known.iter().find(|(name, _)| *name == plain).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            self.error(format!("\"{}\" is not a valid value{}", echo(text), suggestion(text, &names)))
        })
    }

    /// The values of a list.
    pub(crate) fn list(&self) -> Result<Vec<Field<'n>>, ConfigError> {
        match &self.node.value {
            Value::List(nodes) => Ok(nodes
                .iter()
                .enumerate()
                .map(|(index, node)| Field { file: self.file, key: format!("{}[{index}]", self.key), node })
                .collect()),
            other => Err(self.mismatch("a list", other)),
        }
    }

    /// The keys and values of a table whose keys are names of the writer's own.
    pub(crate) fn entries(&self) -> Result<Vec<(&'n Entry, Field<'n>)>, ConfigError> {
        match &self.node.value {
            Value::Table(entries) => Ok(entries
                .iter()
                .map(|entry| (entry, Field { file: self.file, key: self.below(&entry.key), node: &entry.node }))
                .collect()),
            other => Err(self.mismatch("a table", other)),
        }
    }

    /// A table whose keys are settings.
    pub(crate) fn settings(&self) -> Result<Settings<'n>, ConfigError> {
        match &self.node.value {
            Value::Table(entries) => Ok(Settings { field: self.clone(), entries, known: Vec::new() }),
            other => Err(self.mismatch("a table", other)),
        }
    }

    fn mismatch(&self, wanted: &str, found: &Value) -> ConfigError {
        self.error(format!("must be {wanted}, not {}", found.kind()))
    }

    fn below(&self, key: &str) -> String {
        if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) }
    }
}

/// A table whose keys are settings: remembers which were asked for.
pub(crate) struct Settings<'n> {
    field: Field<'n>,
    entries: &'n [Entry],
    known: Vec<&'static str>,
}

impl<'n> Settings<'n> {
    /// The value of a setting, if the file has it. `a-b` is another way to write `a_b`.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Field<'n>> {
        self.known.push(key);
        let entry = self.entries.iter().find(|entry| is_spelling_of(&entry.key, key))?;
        Some(Field { file: self.field.file, key: self.field.below(&entry.key), node: &entry.node })
    }

    /// The same, without what is there and null.
    pub(crate) fn get_set(&mut self, key: &'static str) -> Option<Field<'n>> {
        self.get(key).filter(|field| !field.is_null())
    }

    /// Refuses keys that nobody asked for, and one that is written in two ways.
    pub(crate) fn finish(self) -> Result<(), ConfigError> {
        for (index, entry) in self.entries.iter().enumerate() {
            let again = self.entries.iter().take(index).find(|before| is_spelling_of(&before.key, &plain(&entry.key)));
            if let Some(before) = again {
                return Err(self.error_at(entry, format!("is set twice: here and in line {}", before.at.line)));
            }
        }
        match self.unknown().next() {
            None => Ok(()),
            Some(entry) => Err(self.error_at(entry, format!("unknown key{}", suggestion(&entry.key, &self.known)))),
        }
    }

    /// For a format that is not ours: refuses only what looks like a slip of the pen, and returns the rest as warnings.
    pub(crate) fn finish_kindly(self, warnings: &mut Vec<String>) -> Result<(), ConfigError> {
        for entry in self.unknown() {
            let message = format!("unknown key{}", suggestion(&entry.key, &self.known));
            let error = self.error_at(entry, message);
            if nearest(&entry.key, &self.known).is_some() {
                return Err(error);
            }
            warnings.push(format!("{error}; it is ignored"));
        }
        Ok(())
    }

    fn unknown(&self) -> impl Iterator<Item = &'n Entry> {
        self.entries.iter().filter(|entry| !self.known.iter().any(|known| is_spelling_of(&entry.key, known)))
    }

    fn error_at(&self, entry: &Entry, message: String) -> ConfigError {
        ConfigError {
            file: self.field.file.to_owned(),
            place: Some(entry.at),
            key: self.field.below(&entry.key),
            message,
        }
    }
}

fn plain(key: &str) -> String {
    key.replace('-', "_")
}

fn is_spelling_of(written: &str, key: &str) -> bool {
    written == key || plain(written) == key
}

pub(super) fn suggestion(text: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    match nearest(text, known) {
        Some(near) => format!("; did you mean \"{near}\"? (valid: {all})"),
        None if known.is_empty() => "; there are none".to_owned(),
        None => format!("; valid: {all}"),
    }
}
