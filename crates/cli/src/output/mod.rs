//! The one place that writes to the terminal. Answers go to standard output, everything said about them to standard error.

pub(crate) mod escape;
pub(crate) mod json;
pub(crate) mod table;

use std::io::{self, IsTerminal, Write};

use docket_core::{Error, Reason, Refusal};
use owo_colors::{OwoColorize, Style};
use serde::Serialize;

use crate::exit::Failure;
use crate::names::Names;

/// Whether and how what is printed is coloured and wrapped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
    /// The width of the terminal; none when the answer goes elsewhere.
    pub(crate) width: Option<u16>,
}

impl Paint {
    pub(crate) fn bold(self, text: &str) -> String {
        self.styled(text, Style::new().bold())
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.styled(text, Style::new().dimmed())
    }

    pub(crate) fn key(self, text: &str) -> String {
        self.styled(text, Style::new().cyan())
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.styled(text, Style::new().green())
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.styled(text, Style::new().red().bold())
    }

    fn styled(self, text: &str, style: Style) -> String {
        if self.colour && !text.is_empty() { text.style(style).to_string() } else { text.to_owned() }
    }
}

/// Where answers go, and in which form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) paint: Paint,
}

impl Output {
    /// Looks at what standard output is. `NO_COLOR` is respected.
    pub(crate) fn new(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let colour = terminal && wants_colour();
        // One that does not know its size says 0.
        let width = terminal.then(|| comfy_table::Table::new().width()).flatten().filter(|width| *width > 0);
        Self { json, paint: Paint { colour, width } }
    }

    /// Whether somebody watches standard error, so that progress is worth showing.
    pub(crate) fn is_watched(self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// One answer: the engine's type for programs, lines for people.
    pub(crate) fn answer<T: Serialize>(
        self,
        value: &T,
        lines: impl FnOnce(Paint) -> Vec<String>,
    ) -> Result<(), Failure> {
        if self.json {
            return print(&[json::pretty(value)?]);
        }
        print(&lines(self.paint))
    }

    /// One answer of many, on a line of its own.
    pub(crate) fn answer_line<T: Serialize>(
        self,
        value: &T,
        line: impl FnOnce(Paint) -> String,
    ) -> Result<(), Failure> {
        let line = if self.json { json::compact(value)? } else { line(self.paint) };
        print(&[line])
    }
}

/// Lines on standard output, as they are.
pub(crate) fn print(lines: &[String]) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}

/// A word to whoever watches, beside the answer. Nobody may be there to hear it.
pub(crate) fn remark(text: &str) {
    say(&escape::block(text));
}

/// Whether colour is wanted and understood: see no-color.org.
fn wants_colour() -> bool {
    let unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    unset("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Text on standard error, as it is.
pub(crate) fn say(text: &str) {
    _ = writeln!(io::stderr().lock(), "{text}");
}

/// Tells why a command failed: for people what is wrong and what to do, for programs the one error type.
pub(crate) fn report(failure: &Failure, json: bool) {
    let text = match failure {
        Failure::ClosedPipe | Failure::Told(_) => return,
        Failure::Engine(error) | Failure::Refused(error, _) if json => error_json(error),
        Failure::Engine(error) => error_text(error, &Names::default(), error_paint()),
        Failure::Refused(error, names) => error_text(error, names, error_paint()),
        Failure::Environment(message) if json => error_json(&not_configured(message)),
        Failure::Write(_) if json => error_json(&not_configured(&failure.to_string())),
        Failure::Environment(_) | Failure::Write(_) => {
            format!("{} {}", error_paint().bad("error:"), escape::block(&failure.to_string()))
        }
    };
    _ = writeln!(io::stderr().lock(), "{text}");
}

fn error_paint() -> Paint {
    Paint { colour: io::stderr().is_terminal() && wants_colour(), width: None }
}

fn not_configured(message: &str) -> Error {
    Error::new(docket_core::Kind::Permanent, docket_core::Code::Unavailable, Reason::NotConfigured, message)
}

fn error_json(error: &Error) -> String {
    #[derive(Serialize)]
    struct Envelope<'e> {
        error: &'e Error,
    }
    json::compact(&Envelope { error }).unwrap_or_else(|_| "{\"error\":{}}".to_owned())
}

/// What is wrong; then each gate that said no, with what would mend it; then what else helps.
pub(crate) fn error_text(error: &Error, names: &Names, paint: Paint) -> String {
    let mut lines = Vec::new();
    if error.refusals.is_empty() {
        lines.push(format!("{} {}", paint.bad("error:"), escape::block(&error.message)));
    } else {
        // The message of a refused move repeats its gates, which follow one by one.
        let what = error.message.split(": ").next().unwrap_or(&error.message);
        lines.push(format!("{} {}", paint.bad("error:"), escape::line(what)));
    }
    for refusal in &error.refusals {
        lines.push(format!(
            "  {} {}",
            paint.bold(&format!("{}:", refusal.gate.as_str())),
            escape::line(&refusal.message)
        ));
        for blocker in &refusal.blockers {
            let item = names.of(blocker.item);
            lines.push(format!("    {item} must be {} first", blocker.must_be()));
        }
        for item in refusal.open_items.iter().filter_map(|item| names.known(*item)) {
            lines.push(format!("    {item}"));
        }
        lines.push(format!("    {} {}", paint.dim("to mend it:"), escape::line(&refusal.remedy)));
    }
    if let Some(hint) = hint(error) {
        lines.push(format!("  {} {hint}", paint.dim("hint:")));
    }
    if let Some(wait) = error.retry_after_ms.filter(|_| error.refusals.is_empty()) {
        lines.push(format!("  {} it may work in {}", paint.dim("hint:"), seconds(wait)));
    }
    lines.join("\n")
}

/// What helps that the engine cannot know: it has no command line.
const HINTS: [(Reason, &str); 9] = [
    (Reason::ProjectRequired, "name one with --project; `docket project list` shows them"),
    (Reason::HasChildren, "--recursive removes it with everything beneath it"),
    (Reason::StoreFull, "make room on the disk, then try again; nothing was written"),
    (
        Reason::StoreReadOnly,
        "a file or its folder cannot be written: check their owner and permissions; a server may be a standby",
    ),
    (Reason::StoreCorrupt, "`docket doctor` says what is damaged; `docket restore` brings a backup back"),
    (Reason::StoreNewer, "use the newer docket that wrote it"),
    (
        Reason::CheckNotApproved,
        "`docket check list` shows what would run; somebody else than its author approves it with `docket check approve`",
    ),
    (Reason::StoreForeign, "--db names the database; `docket init` makes a new one"),
    (
        Reason::RejectedByPolicy,
        "the policy is set by [identity] in docket.toml, .taskorchestrator/config.yaml or DEGRADED_MODE_POLICY",
    ),
];

fn hint(error: &Error) -> Option<&'static str> {
    let is_for_a_person = |refusal: &Refusal| refusal.reason == Some(Reason::NotYours);
    if error.refusals.iter().any(is_for_a_person) {
        return Some("whoever is that person says so with --as human");
    }
    HINTS.iter().find(|(reason, _)| *reason == error.reason).map(|(_, hint)| *hint)
}

pub(crate) fn seconds(millis: u64) -> String {
    match millis {
        0..1000 => "a second".to_owned(),
        1000..90_000 => format!("{} s", millis.div_ceil(1000)),
        90_000..5_400_000 => format!("{} min", millis.div_ceil(60_000)),
        _ => format!("{} h", millis.div_ceil(3_600_000)),
    }
}
