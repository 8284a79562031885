//! `docket import`: takes in what `docket export` wrote, all of it or nothing.

use std::io::{BufRead, BufReader, Read};

use docket_core::command::Imported;
use docket_core::exchange::Reader;
use docket_core::{Error, Reason, limits};

use super::progress::Progress;
use crate::config::locate::{DATABASE, Origin};
use crate::exit::Failure;
use crate::session::{Access, Shell, resolve};

/// Largest file that is taken in: it is one unit of work, and takes some thirty times its size in memory.
pub(super) const IMPORT_BYTES: u64 = 64 * 1024 * 1024;
/// Longest line of an import: a text at its limit, every character of it escaped, and room for the rest.
const LINE_BYTES: usize = limits::TEXT_BYTES * 6 * 4;

const HELP: &str = "\
Ids and keys stay as they were. A project that is there already keeps its rules and takes in the items; an \
item that is there already is refused. Checks keep their results, and who lets them run is asked anew. Errors name the line. A file may have 64 MiB; \
`docket backup` and `docket restore` move a database of any size.

Examples:
  docket import work.jsonl
  docket import work.jsonl --create      in a fresh clone
  zcat web.jsonl.gz | docket import -";

#[derive(Debug, clap::Args)]
#[command(
    after_help = HELP
)]
pub(crate) struct Args {
    /// The file to read; - reads standard input
    path: String,
    /// Make the database when there is none
    #[arg(long)]
    create: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let (import, lines) = if args.path == "-" {
        read(std::io::stdin().lock(), "standard input")?
    } else {
        let path = resolve(&shell.around, &args.path);
        let shown = path.display().to_string();
        let file = std::fs::File::open(&path)
            .map_err(|error| Failure::environment(format!("{shown}: cannot be read: {error}")))?;
        read(BufReader::new(file), &shown)?
    };
    if args.create {
        super::init::make_database(shell, &shell.around.cwd).await?;
    }
    let location = shell.location()?;
    if location.place.is_missing()? {
        let place = location.place.shown();
        // What is made where nobody named a place is made in this folder, and not where was looked last.
        let message = match location.origin {
            Origin::Named | Origin::Found => {
                format!("there is no database at {place}: `docket import --create` makes one")
            }
            Origin::DataFolder => format!(
                "there is no database in this folder or above, nor at {place}: `docket import --create` makes {DATABASE} here"
            ),
        };
        return Err(Failure::environment(message));
    }
    let session = shell.session(Access::Write).await?;
    // All of them are one unit of work: how far that has come, nobody knows before it is done.
    let progress = Progress::new(shell.out, "taking in rows");
    progress.at(import.counts().rows());
    let imported: Imported = match session.everywhere().run(session.call(), import).await {
        Ok(imported) => imported,
        Err(error) => {
            let line = lines.line_of(&error);
            return Err(at_line(&lines.shown, line, error).into());
        }
    };
    drop(progress);
    session.database.close().await;
    shell.out.answer(&imported, |_| vec![format!("took in {}", super::counts(&imported))])
}

/// Where the rows of a file were.
struct Lines {
    shown: String,
    reader: Reader,
}

impl Lines {
    fn line_of(&self, error: &Error) -> Option<usize> {
        self.reader.line_of(error)
    }
}

fn read(source: impl BufRead, shown: &str) -> Result<(docket_core::command::Import, Lines), Failure> {
    let mut source = source.take(IMPORT_BYTES + 1);
    let mut reader = Reader::default();
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let got = (&mut source).take(LINE_BYTES as u64 + 1).read_until(b'\n', &mut bytes);
        got.map_err(|error| Failure::environment(format!("{shown}: cannot be read: {error}")))?;
        // Before the line that was cut off there is taken for a bad one.
        if source.limit() == 0 {
            let message = format!("{shown} is larger than {IMPORT_BYTES} bytes");
            return Err(Error::validation(Reason::TooLong, message).into());
        }
        if bytes.is_empty() {
            break;
        }
        let taken = match std::str::from_utf8(&bytes) {
            _ if bytes.len() > LINE_BYTES => {
                Err(Error::validation(Reason::TooLong, format!("is longer than {LINE_BYTES} bytes")))
            }
            Err(_) => Err(Error::validation(Reason::BadUtf8, "is not UTF-8 text")),
            Ok(line) if line.trim().is_empty() => Ok(()),
            Ok(line) => reader.line(number, line),
        };
        taken.map_err(|error| at_line(shown, Some(number), error))?;
    }
    let import = reader.take_import().map_err(|(line, error)| at_line(shown, Some(line), error))?;
    Ok((import, Lines { shown: shown.to_owned(), reader }))
}

fn at_line(shown: &str, line: Option<usize>, error: Error) -> Error {
    let message = match line {
        Some(line) => format!("{shown}:{line}: {}", error.message),
        None => format!("{shown}: {}", error.message),
    };
    Error { message, ..error }
}
