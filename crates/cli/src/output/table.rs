//! Tables for people.

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table};
use docket_core::model::{Priority, Role};

use super::{Paint, escape};

/// A table in the making; every text in it is escaped.
pub(crate) struct Rows {
    table: Table,
    paint: Paint,
}

impl Rows {
    pub(crate) fn new(paint: Paint, header: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if paint.width.is_some() {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        } else {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        if let Some(width) = paint.width {
            table.set_width(width);
        }
        // Whether there is colour was decided once, for everything that is printed.
        table.force_no_tty();
        if paint.colour {
            table.enforce_styling();
        }
        table.set_header(header.iter().map(|name| Cell::new(name).add_attribute(Attribute::Dim)));
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        Self { table, paint }
    }

    pub(crate) fn add(&mut self, cells: Vec<Text>) {
        self.table.add_row(cells.into_iter().map(|text| text.into_cell(self.paint)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The table, a line to a row.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.table.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

/// The text of one cell, and how it looks.
pub(crate) struct Text {
    shown: String,
    colour: Option<Color>,
    bold: bool,
}

impl Text {
    pub(crate) fn plain(text: impl AsRef<str>) -> Self {
        Self { shown: escape::line(text.as_ref()), colour: None, bold: false }
    }

    pub(crate) fn key(text: impl AsRef<str>) -> Self {
        Self { colour: Some(Color::Cyan), ..Self::plain(text) }
    }

    pub(crate) fn number(number: impl std::fmt::Display) -> Self {
        Self::plain(number.to_string())
    }

    pub(crate) fn dim(text: impl AsRef<str>) -> Self {
        Self { colour: Some(Color::DarkGrey), ..Self::plain(text) }
    }

    pub(crate) fn good(text: impl AsRef<str>) -> Self {
        Self { colour: Some(Color::Green), ..Self::plain(text) }
    }

    pub(crate) fn bad(text: impl AsRef<str>) -> Self {
        Self { colour: Some(Color::Red), bold: true, ..Self::plain(text) }
    }

    pub(crate) fn status(status: &str, role: Role) -> Self {
        Self { colour: Some(role_colour(role)), ..Self::plain(status) }
    }

    pub(crate) fn priority(priority: Priority) -> Self {
        let plain = Self::plain(priority.as_str());
        match priority {
            Priority::High => Self { colour: Some(Color::Red), bold: true, ..plain },
            Priority::Medium => plain,
            Priority::Low => Self { colour: Some(Color::DarkGrey), ..plain },
        }
    }

    fn into_cell(self, paint: Paint) -> Cell {
        let mut cell = Cell::new(self.shown);
        if paint.colour {
            if let Some(colour) = self.colour {
                cell = cell.fg(colour);
            }
            if self.bold {
                cell = cell.add_attribute(Attribute::Bold);
            }
        }
        cell
    }
}

fn role_colour(role: Role) -> Color {
    match role {
        Role::Queue => Color::Blue,
        Role::Work => Color::Yellow,
        Role::Review => Color::Magenta,
        Role::Blocked => Color::Red,
        Role::Terminal => Color::Green,
    }
}
