//! `docket brief`: the work contract of an item.

use clap::Subcommand;
use docket_core::command::{BriefSet, BriefText, Change, SetBrief};
use docket_core::model::{Brief, ItemRef};
use docket_core::query::Includes;
use docket_core::{Error, Reason, echo};

use super::contract::{BriefFlags, brief_lines};
use super::values;
use crate::exit::Failure;
use crate::names::WithKey;
use crate::output::Paint;
use crate::session::{Access, Shell};

const HELP: &str = "\
A brief says what is to be done and when it counts as done. Criteria have names, c1, c2 and so on, which stay \
when the list is written again: a line that says the same keeps its name and its evidence. A list is written whole, \
with `merge` too: criteria that are to stay are said again. What a person is to sign off is taken out by a person alone.

In a file, a brief is a JSON object with objective, context, acceptanceCriteria, constraints, verification and \
handoffExpectations. A criterion is a text, or an object with text, verifier (agent, check or human), hard, \
instructions and id.

Examples:
  docket brief set WEB-7 --objective \"Queries are read\" --criterion \"all samples are read\"
  docket brief set WEB-7 --file brief.json
  docket brief merge WEB-7 --verification \"cargo test\" --clear context
  echo '{\"verification\": null}' | docket brief merge WEB-7 --file -";

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Show a brief, and how far it is shown
    Show(ItemArgs),
    /// Write a brief in place of the one that is there
    Set(Box<SetArgs>),
    /// Change sections of a brief; the others stay, and a list that is given takes the place of the one that is there
    Merge(Box<MergeArgs>),
    /// Clear a brief
    Clear(ItemArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ItemArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
}

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct SetArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    #[command(flatten)]
    flags: BriefFlags,
    /// The whole brief, as JSON out of a file; - reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    /// Refuse if the item has changed since this version
    #[arg(long, value_name = "NUMBER")]
    if_version: Option<u64>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    #[command(flatten)]
    set: SetArgs,
    /// Empties sections: objective, context, criteria, constraints, verification, handoff
    #[arg(long, value_name = "SECTION", value_delimiter = ',')]
    clear: Vec<String>,
}

pub(crate) async fn run(shell: &Shell, act: Act) -> Result<(), Failure> {
    match act {
        Act::Show(args) => show(shell, &args).await,
        Act::Set(args) => {
            let brief = args.flags.or_file(&shell.around, args.file.as_deref(), "--file")?;
            check_said(&brief, "set")?;
            write(shell, &args, brief, true).await
        }
        Act::Merge(args) => {
            let mut brief = args.set.flags.or_file(&shell.around, args.set.file.as_deref(), "--file")?;
            for section in &args.clear {
                clear(&mut brief, section)?;
            }
            check_said(&brief, "merge")?;
            write(shell, &args.set, brief, false).await
        }
        Act::Clear(args) => {
            let args =
                SetArgs { item: args.item, flags: BriefFlags::default(), file: None, if_version: None, fence: None };
            write(shell, &args, BriefText::default(), true).await
        }
    }
}

async fn show(shell: &Shell, args: &ItemArgs) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Read).await?;
    let dossier = session.engine.dossier(&session.scope(), &item, Includes::default()).await?;
    let brief: Brief = dossier.brief.unwrap_or_default();
    let item = &dossier.item;
    let shown =
        BriefSet { item: item.id, brief, score: dossier.score, verdict: dossier.verdict, version: item.version };
    let answer = WithKey { key: Some(dossier.key.clone()), answer: &shown };
    shell.out.answer(&answer, |paint| render(&shown, paint))
}

async fn write(shell: &Shell, args: &SetArgs, brief: BriefText, replace: bool) -> Result<(), Failure> {
    let item: ItemRef = values::item(&args.item)?;
    let session = shell.session(Access::Write).await?;
    let call = session.call();
    let set = SetBrief {
        authority: session.engine.authority_of(&call),
        project: session.scope(),
        item,
        brief,
        replace,
        expected_version: args.if_version,
        fence: values::fence(args.fence),
    };
    let set = session.engine.run(call, set).await?;
    let names = session.names([set.item]).await?;
    let answer = WithKey { key: names.key(set.item), answer: &set };
    shell.out.answer(&answer, |paint| {
        let done = if set.brief.is_empty() { "cleared the brief of" } else { "wrote the brief of" };
        let head = format!(
            "{} {}  {}",
            paint.good(done),
            names.of(set.item),
            paint.dim(&format!("(version {})", set.version))
        );
        std::iter::once(head).chain(if set.brief.is_empty() { Vec::new() } else { render(&set, paint) }).collect()
    })
}

fn render(set: &BriefSet, paint: Paint) -> Vec<String> {
    if set.brief.is_empty() {
        return vec![paint.dim("no brief: `docket brief set` writes one")];
    }
    brief_lines(&set.brief, set.score, None, paint)
}

fn check_said(brief: &BriefText, verb: &str) -> Result<(), Failure> {
    if brief.is_empty() {
        let message = format!("no section was given: see `docket brief {verb} --help`");
        return Err(Error::validation(Reason::TooFew, message).into());
    }
    Ok(())
}

fn clear(brief: &mut BriefText, section: &str) -> Result<(), Failure> {
    match section {
        "objective" => brief.objective = Change::Clear,
        "context" => brief.context = Change::Clear,
        "criteria" => brief.acceptance_criteria = Change::Clear,
        "constraints" => brief.constraints = Change::Clear,
        "verification" => brief.verification = Change::Clear,
        "handoff" => brief.handoff_expectations = Change::Clear,
        other => {
            let message = format!(
                "--clear must be objective, context, criteria, constraints, verification or handoff, not \"{}\"",
                echo(other)
            );
            return Err(Error::validation(Reason::UnknownValue, message).at("--clear").into());
        }
    }
    Ok(())
}
