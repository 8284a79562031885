//! `docket item edit`: changes fields of one item, and where it lies.

use docket_core::command::{Change, Edit, Patch};
use docket_core::model::{Complexity, Priority, Summary, Timestamp, Title};
use docket_core::{Error, Reason};

use super::super::{link, values};
use crate::exit::Failure;
use crate::output::escape;
use crate::output::json::Keyed;
use crate::session::{Access, Shell};

const EXAMPLES: &str = "\
Examples:
  docket item edit WEB-7 --title \"Fix the crash\" --priority high
  docket item edit WEB-7 --parent WEB-3
  docket item edit WEB-7 --clear complexity,parent
  docket item edit WEB-7 --summary \"Done by noon\" --if-version 4";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// One line that says what is to be done
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What is meant, at length; - reads standard input
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The same out of a file
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    description_file: Option<String>,
    /// What is meant, in short
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Why it is wanted: what you are after
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,
    /// high, medium or low
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<Priority>,
    /// How hard it is, from 1 to 10
    #[arg(long, value_name = "NUMBER", value_parser = values::complexity, allow_negative_numbers = true)]
    complexity: Option<i64>,
    /// The item that it is a part of
    #[arg(long, value_name = "ITEM")]
    parent: Option<String>,
    /// Its type, which selects its note schema
    #[arg(long = "type", value_name = "NAME")]
    item_type: Option<String>,
    /// A free word beside the status
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Words to find it by, in place of those it has
    #[arg(long, alias = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Traits, in place of those it has
    #[arg(long, alias = "trait", value_name = "NAME", value_delimiter = ',')]
    traits: Vec<String>,
    /// Path globs that it will change, in place of those it has
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    touches: Vec<String>,
    /// Shared resources that it uses alone, in place of those it has
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    needs: Vec<String>,
    /// What an agent must be able to do, in place of what it says
    #[arg(long = "capability", value_name = "NAME", value_delimiter = ',')]
    capabilities: Vec<String>,
    /// Whether a second look is asked for: true or false
    #[arg(long, value_name = "BOOLEAN")]
    requires_verification: Option<bool>,
    /// Why a person must look at it
    #[arg(long, value_name = "TEXT")]
    attention: Option<String>,
    /// When it should be done, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    due: Option<Timestamp>,
    /// How many minutes it is thought to take
    #[arg(long, value_name = "MINUTES")]
    estimate: Option<u32>,
    /// Its place among those of its status, the smallest first
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    position: Option<i32>,
    /// Free data of yours, kept as it is
    #[arg(long, value_name = "TEXT")]
    metadata: Option<String>,
    /// Empties fields: description, summary, intent, complexity, parent, type, label, tags, traits, attention, due, estimate,
    /// position, touches, needs, capabilities, metadata
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    clear: Vec<String>,
    /// Refuse if the item has changed since this version
    #[arg(long, value_name = "NUMBER")]
    if_version: Option<u64>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let patch = patch(shell, &args)?;
    let session = shell.session(Access::Write).await?;
    let edit = Edit { project: session.scope(), patches: vec![patch], atomic: true };
    let edited = session.engine.run(session.call(), edit).await;
    let none = || Error::validation(Reason::TooFew, "nothing was changed");
    let item = match edited.and_then(|mut edited| edited.items.pop().unwrap_or_else(|| Err(none()))) {
        Ok(item) => item,
        Err(error) => return Err(link::by_key(&session, error).await),
    };
    let key = session.key(&item);
    shell.out.answer(&Keyed { key: key.clone(), item: &item }, |paint| {
        let version = paint.dim(&format!("(version {})", item.version));
        vec![format!("{} {}  {version}", paint.key(&key.to_string()), escape::line(item.title.as_str()))]
    })
}

fn patch(shell: &Shell, args: &Args) -> Result<Patch, Failure> {
    let name = |text: &Option<String>, field: &str| text.as_deref().map(|text| values::name(text, field)).transpose();
    let names = |texts: &[String], field: &str| -> Result<_, Failure> {
        Ok((!texts.is_empty()).then_some(values::names(texts, field)?))
    };
    let description =
        values::text(&shell.around, args.description.as_deref(), args.description_file.as_deref(), "description")?;
    let complexity = args.complexity.map(Complexity::parse).transpose().map_err(|invalid| invalid.at("complexity"))?;
    let mut patch = Patch {
        expected_version: args.if_version,
        fence: values::fence(args.fence),
        title: args.title.as_deref().map(Title::parse).transpose().map_err(|invalid| invalid.at("title"))?,
        description: set(description),
        summary: args.summary.as_deref().map(Summary::parse).transpose().map_err(|invalid| invalid.at("summary"))?,
        intent: set(values::text(&shell.around, args.intent.as_deref(), None, "intent")?),
        status_label: set(name(&args.label, "label")?),
        priority: args.priority,
        complexity: set(complexity),
        parent: set(args.parent.as_deref().map(values::item).transpose()?),
        item_type: set(name(&args.item_type, "type")?),
        tags: (!args.tags.is_empty()).then_some(values::tags(&args.tags)?),
        traits: names(&args.traits, "traits")?,
        metadata: set(values::text(&shell.around, args.metadata.as_deref(), None, "metadata")?),
        requires_verification: args.requires_verification,
        attention: set(values::text(&shell.around, args.attention.as_deref(), None, "attention")?),
        due_at: set(args.due),
        estimate_minutes: set(args.estimate),
        position: set(args.position),
        touches: names(&args.touches, "touches")?,
        needs: names(&args.needs, "needs")?,
        required_capabilities: names(&args.capabilities, "capability")?,
        ..Patch::of(values::item(&args.item)?)
    };
    for field in &args.clear {
        clear(&mut patch, field)?;
    }
    let nothing =
        Patch { expected_version: patch.expected_version, fence: patch.fence, ..Patch::of(patch.item.clone()) };
    if patch == nothing {
        return Err(
            Error::validation(Reason::TooFew, "nothing to change was given: see `docket item edit --help`").into()
        );
    }
    Ok(patch)
}

fn set<T>(value: Option<T>) -> Change<T> {
    value.map_or(Change::Keep, Change::Set)
}

fn clear(patch: &mut Patch, field: &str) -> Result<(), Failure> {
    match field {
        "description" => patch.description = Change::Clear,
        "summary" => patch.summary = Some(Summary::parse("")?),
        "intent" => patch.intent = Change::Clear,
        "attention" => patch.attention = Change::Clear,
        "due" => patch.due_at = Change::Clear,
        "estimate" => patch.estimate_minutes = Change::Clear,
        "position" => patch.position = Change::Clear,
        "complexity" => patch.complexity = Change::Clear,
        "parent" => patch.parent = Change::Clear,
        "type" => patch.item_type = Change::Clear,
        "label" => patch.status_label = Change::Clear,
        "metadata" => patch.metadata = Change::Clear,
        "tags" => patch.tags = Some(Vec::new()),
        "traits" => patch.traits = Some(Vec::new()),
        "touches" => patch.touches = Some(Vec::new()),
        "needs" => patch.needs = Some(Vec::new()),
        "capabilities" => patch.required_capabilities = Some(Vec::new()),
        other => {
            let message = format!(
                "--clear: \"{}\" is no field that can be emptied; those are description, summary, intent, complexity, \
                 parent, type, label, tags, traits, attention, due, estimate, position, touches, needs, capabilities and \
                 metadata",
                docket_core::echo(other)
            );
            return Err(Error::validation(Reason::UnknownValue, message).at("clear").into());
        }
    }
    Ok(())
}
