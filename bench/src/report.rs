//! What was measured, as a table for people and as JSON for programs. A row says what it is held to and whether it holds.

use serde_json::{Value, json};

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// So many a second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Mebibytes.
    MiB,
    /// Things.
    Count,
}

impl Unit {
    fn as_str(self) -> &'static str {
        match self {
            Self::PerSecond => "per second",
            Self::Seconds => "seconds",
            Self::MiB => "MiB",
            Self::Count => "count",
        }
    }

    fn show(self, figure: f64) -> String {
        match self {
            Self::PerSecond => format!("{figure:.0} /s"),
            Self::Seconds if figure < 1e-3 => format!("{:.0} µs", figure * 1e6),
            Self::Seconds if figure < 1.0 => format!("{:.2} ms", figure * 1e3),
            Self::Seconds => format!("{figure:.2} s"),
            Self::MiB => format!("{figure:.1} MiB"),
            Self::Count => format!("{figure:.0}"),
        }
    }
}

/// What a row is held to: its ratio where it has a baseline, else its figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// No less than this.
    AtLeast(f64),
    /// No more than this.
    AtMost(f64),
    /// To nothing: it is told so that other rows are read for what they are.
    Told,
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
            Self::Told => !value.is_nan(),
        }
    }

    fn show(self) -> String {
        match self {
            Self::AtLeast(least) => format!("≥ {least}"),
            Self::AtMost(most) => format!("≤ {most}"),
            Self::Told => "–".to_owned(),
        }
    }
}

/// One line of what was measured.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) figure: f64,
    /// What the figure is compared with, measured in turn with it.
    pub(crate) baseline: Option<f64>,
    pub(crate) bound: Bound,
    /// Whatever helps to read the figures.
    pub(crate) note: String,
}

impl Row {
    /// A figure beside its baseline.
    pub(crate) fn versus(name: impl Into<String>, unit: Unit, figure: f64, baseline: f64, bound: Bound) -> Self {
        Self { name: name.into(), unit, figure, baseline: Some(baseline), bound, note: String::new() }
    }

    /// A figure that stands for itself.
    pub(crate) fn alone(name: impl Into<String>, unit: Unit, figure: f64, bound: Bound) -> Self {
        Self { name: name.into(), unit, figure, baseline: None, bound, note: String::new() }
    }

    pub(crate) fn noted(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    fn ratio(&self) -> Option<f64> {
        self.baseline.map(|baseline| self.figure / baseline)
    }

    fn passed(&self) -> bool {
        self.bound.holds(self.ratio().unwrap_or(self.figure))
    }

    fn cells(&self) -> [String; 7] {
        [
            self.name.clone(),
            self.unit.show(self.figure),
            self.baseline.map_or_else(|| "–".to_owned(), |baseline| self.unit.show(baseline)),
            self.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
            self.bound.show(),
            if self.passed() { "pass" } else { "FAIL" }.to_owned(),
            self.note.clone(),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "unit": self.unit.as_str(),
            "figure": self.figure,
            "baseline": self.baseline,
            "ratio": self.ratio(),
            "bound": self.bound.show(),
            "passed": self.passed(),
            "note": self.note,
        })
    }
}

/// Everything that was measured, and what could not be.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) quick: bool,
    pub(crate) rows: Vec<Row>,
    /// Parts that broke off, with why.
    pub(crate) broken: Vec<(String, String)>,
}

impl Report {
    /// Whether every bound holds and nothing broke off.
    pub(crate) fn passed(&self) -> bool {
        self.broken.is_empty() && self.rows.iter().all(Row::passed)
    }

    /// The table.
    pub(crate) fn table(&self) -> String {
        let head = ["what", "figure", "baseline", "ratio", "bound", "", "note"].map(str::to_owned);
        let lines: Vec<[String; 7]> = std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect();
        let width = |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..7).map(width).collect();
        let pad = |cells: &[String; 7]| {
            let padded: Vec<String> =
                cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            padded.join("  ").trim_end().to_owned()
        };
        let broken = self.broken.iter().map(|(part, why)| format!("{part}: BROKE OFF: {why}"));
        lines.iter().map(pad).chain(broken).collect::<Vec<_>>().join("\n")
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> Value {
        let broken: Vec<Value> = self.broken.iter().map(|(part, why)| json!({ "part": part, "why": why })).collect();
        json!({
            "quick": self.quick,
            "cores": std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
            "passed": self.passed(),
            "rows": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "broken": broken,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_held_to_its_ratio_or_else_to_its_figure() {
        let row = |figure, baseline, bound| Row { baseline, ..Row::alone("row", Unit::Count, figure, bound) };
        for (row, passed) in [
            (row(10.0, Some(5.0), Bound::AtMost(2.0)), true),
            (row(10.1, Some(5.0), Bound::AtMost(2.0)), false),
            (row(10.0, Some(20.0), Bound::AtLeast(0.5)), true),
            (row(9.9, Some(20.0), Bound::AtLeast(0.5)), false),
            (row(25.0, None, Bound::AtMost(25.0)), true),
            (row(f64::NAN, None, Bound::AtMost(25.0)), false),
            (row(1e9, Some(1.0), Bound::Told), true),
            (row(f64::NAN, None, Bound::Told), false),
        ] {
            assert_eq!(row.passed(), passed, "{row:?}");
            assert_eq!(Report { rows: vec![row], ..Report::default() }.passed(), passed);
        }
    }

    #[test]
    fn a_part_that_broke_off_fails_the_run() {
        let report = Report { broken: vec![("race".to_owned(), "no such file".to_owned())], ..Report::default() };
        assert!(!report.passed());
        assert!(report.table().contains("race: BROKE OFF: no such file"));
    }
}
