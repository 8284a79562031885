//! The command line: its verbs and the options they share. Each verb's own options stand with the verb.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};
use docket_core::limits;

use crate::command;
use crate::exit::Failure;
use crate::output::escape;

const ABOUT: &str = "The work server for fleets of AI agents: one graph of work items, gates that must be passed, claims that \
                     cannot be held twice.";

const EXAMPLES: &str = "\
Examples:
  docket init                              make a database here, and show how to connect an agent
  docket item add \"Write the parser\" --priority high
  docket start                             take the best ready work
  docket finish DOC-1                      move it on; refusals say what is missing
  docket inbox                             what waits for you
  docket why                               why is nothing ready?

Exit codes:
  0 done                      5 conflict, or refused by a rule
  1 doctor found something    6 unavailable
  2 usage, or not found       7 over capacity
  3 environment or settings   8 a check does not hold
  4 not allowed

Environment:
  DOCKET_DB, DOCKET_ACTOR, DOCKET_CONFIG   as --db, --actor and --config
  DOCKET_LOG (or RUST_LOG)                 what is logged to standard error, such as \"info\"
  AGENT_CONFIG_DIR, DEGRADED_MODE_POLICY   as the task-orchestrator reads them
  NO_COLOR                                 no colours";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "docket", bin_name = "docket", version, about = ABOUT, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What every verb understands.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The database: sqlite:PATH, a path or postgres://… [default: .docket/docket.db here or above, else your data folder]
    #[arg(long, global = true, value_name = "DATABASE")]
    pub(crate) db: Option<String>,
    /// The project, by its slug [default: the one docket.toml names, else the only one]
    #[arg(long, global = true, value_name = "SLUG")]
    pub(crate) project: Option<String>,
    /// Who acts, as KIND:NAME; kinds are user, orchestrator, subagent, external [default: you]
    #[arg(long, global = true, value_name = "KIND:NAME")]
    pub(crate) actor: Option<String>,
    /// The configuration file [default: docket.toml here or above]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<String>,
    /// A name for this request, best a UUID: sent again, it takes effect once and answers the same
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) request_id: Option<String>,
    /// Answer in JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a database here, and show how to connect an agent to it
    Init(command::init::Args),
    /// Serve agents over MCP on standard input and output
    Mcp(command::mcp::Args),
    /// Serve REST, MCP and live events over HTTP
    Serve(command::serve::Args),
    /// Make the checks that wait in the database, beside a server
    Runner(command::runner::Args),
    /// Make, show, list, change and remove items
    #[command(subcommand)]
    Item(command::item::Act),
    /// Show items with what lies beneath them
    Tree(command::tree::Args),
    /// Show ready work, the best first
    Next(command::next::Args),
    /// Begin work: claim an item, or the best ready work, and move it into work
    Start(command::start::Args),
    /// End a piece of work: evidence, links, the last comment and the move, in one step
    Finish(command::finish::Args),
    /// Begin, keep up, end and list attempts at items
    #[command(subcommand)]
    Session(command::session::Act),
    /// Claim items by name, or the best ready work
    Claim(command::claim::Args),
    /// Give claims up
    Release(command::release::Args),
    /// Move an item: by a trigger, or to a status
    Advance(command::advance::Args),
    /// Close an item, or a whole tree of them
    Close(command::close::Args),
    /// Write and show the work contract of an item
    #[command(subcommand)]
    Brief(command::brief::Act),
    /// Show that acceptance criteria hold, or sign them off
    Verify(command::verify::Args),
    /// Say how far an item is shown to be done
    Verdict(command::verdict::Args),
    /// Write, run, approve and attest what must be shown before an item counts as done
    #[command(subcommand)]
    Check(command::check::Act),
    /// Hand work in: it closes by itself when everything is shown
    Submit(command::submit::Args),
    /// Put a question about an item to a person
    Ask(command::ask::Args),
    /// Answer a question
    Answer(command::answer::Args),
    /// Take a question back
    Withdraw(command::withdraw::Args),
    /// Show everything that waits for a person
    Inbox(command::inbox::Args),
    /// Say something about an item, or show what was said
    Comment(command::comment::Args),
    /// Link an item to something outside, or show its links
    Attach(command::attach::Args),
    /// Remove links to things outside
    Detach(command::detach::Args),
    /// Keep what was learned for whoever comes next
    Learn(command::learn::Args),
    /// Find, show, change and review what was learned
    #[command(subcommand)]
    Knowledge(command::knowledge::Act),
    /// Write, show, list and remove notes
    #[command(subcommand)]
    Note(command::note::Act),
    /// Make an edge between two items
    Link(command::link::Args),
    /// Remove edges
    Unlink(command::unlink::Args),
    /// Say why items are not ready, and what would clear it
    Why(command::why::Args),
    /// Show what is held up, and by what
    Blocked(command::blocked::Args),
    /// Show what was done, by whom
    Events(command::events::Args),
    /// Find items by words
    Search(command::search::Args),
    /// Show how the project stands
    Overview(command::overview::Args),
    /// Say how long work like this has taken
    Estimate(command::estimate::Args),
    /// List, show, make, change and put away projects
    #[command(subcommand)]
    Project(command::project::Act),
    /// Make, list, revoke and rotate the keys that callers over the network are known by
    #[command(subcommand)]
    Key(command::key::Act),
    /// Look at the whole database and say what is wrong with it
    Doctor(command::doctor::Args),
    /// Write a whole copy of the database to a new file
    Backup(command::backup::Args),
    /// Put a backup in the place of the database
    Restore(command::restore::Args),
    /// Write all rows as lines of JSON
    Export(command::export::Args),
    /// Take in what `docket export` wrote
    Import(command::import::Args),
    /// Make items of a Markdown text
    ImportMarkdown(command::import_markdown::Args),
    /// Print a completion script for a shell
    Completions(command::completions::Args),
}

/// Reads the command line. Help and errors are printed here; the exit code says which it was.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Cli, u8> {
    let mut text = Vec::with_capacity(arguments.len());
    let json = arguments.iter().any(|argument| argument == "--json");
    for (index, argument) in arguments.into_iter().enumerate() {
        let Ok(argument) = argument.into_string() else {
            let failure = Failure::bad_utf8(format!("argument {index} is not UTF-8 text"));
            crate::output::report(&failure, json);
            return Err(failure.code());
        };
        text.push(argument);
    }
    let harmless = text.iter().all(|argument| {
        argument.chars().nth(limits::ECHO_CHARS).is_none() && !argument.chars().any(escape::is_harmful)
    });
    Cli::try_parse_from(text).map_err(|error| {
        if !error.use_stderr() {
            _ = error.print();
            return crate::exit::OK;
        }
        if json {
            let message = error.render().to_string();
            let message = shorten(message.trim_start_matches("error: ").trim());
            let failure = Failure::from(docket_core::Error::validation(docket_core::Reason::BadValue, message));
            crate::output::report(&failure, true);
        } else if harmless {
            _ = error.print();
        } else {
            crate::output::say(&shorten(&error.render().to_string()));
        }
        crate::exit::USAGE
    })
}

/// Text that repeats arguments, with none of them at length and nothing in it that a terminal acts on.
fn shorten(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words: Vec<String> = line.split(' ').map(docket_core::echo).collect();
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn what_is_repeated_is_short_and_harmless() {
        let long = format!("error: '{}' is bad", "x".repeat(10_000));
        let short = super::shorten(&long);
        assert!(short.chars().count() < 300 && short.ends_with("is bad"), "{short}");
        assert!(!super::shorten("a \u{1b}[31m b").contains('\u{1b}'));
    }
}
