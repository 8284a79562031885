//! `docket item add`: makes one item.

use docket_core::command::{Create, CreatedItem, End, NewEdge, NewItem, Parent};
use docket_core::model::{Complexity, EdgeKind, Priority, Summary, Timestamp, Title};
use docket_core::{Error, Reason};

use super::super::contract::BriefFlags;
use super::super::values;
use crate::exit::Failure;
use crate::names::Names;
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

/// The item's name inside the call.
const LOCAL: &str = "new";

const EXAMPLES: &str = "\
Examples:
  docket item add \"Write the parser\"
  docket item add \"Fix the crash\" --type bug --priority high --parent WEB-3 --tags parser,urgent
  docket item add \"Ship it\" --blocked-by WEB-4 --blocked-by WEB-5 --description-file plan.md";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// One line that says what is to be done
    title: String,
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
    /// The item that it is a part of
    #[arg(long, value_name = "ITEM")]
    parent: Option<String>,
    /// high, medium or low
    #[arg(long, value_name = "PRIORITY", default_value = "medium")]
    priority: Priority,
    /// How hard it is, from 1 to 10
    #[arg(long, value_name = "NUMBER", value_parser = values::complexity, allow_negative_numbers = true)]
    complexity: Option<i64>,
    /// Its type, which selects its note schema
    #[arg(long = "type", value_name = "NAME")]
    item_type: Option<String>,
    /// Words to find it by
    #[arg(long, alias = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Traits that add notes to its schema
    #[arg(long, alias = "trait", value_name = "NAME", value_delimiter = ',')]
    traits: Vec<String>,
    /// The status to begin in [default: the workflow's]
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Path globs that it will change: overlapping work is not handed out together
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    touches: Vec<String>,
    /// Shared resources that it uses alone
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    needs: Vec<String>,
    /// What an agent must be able to do to be given it
    #[arg(long = "capability", value_name = "NAME", value_delimiter = ',')]
    capabilities: Vec<String>,
    /// Items that must be done first
    #[arg(long, value_name = "ITEM")]
    blocked_by: Vec<String>,
    /// Items that must wait for it
    #[arg(long, value_name = "ITEM")]
    blocks: Vec<String>,
    /// Ask for a second look before it counts as done
    #[arg(long)]
    requires_verification: bool,
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
    #[command(flatten)]
    brief: BriefFlags,
    /// Its whole brief, as JSON out of a file: see `docket brief set --help`
    #[arg(long, value_name = "FILE")]
    brief_file: Option<String>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let new = new_item(shell, &args)?;
    let edges = edges(&args)?;
    let session = shell.session(Access::Write).await?;
    let create = Create {
        project: session.project_ref()?,
        items: vec![new],
        edges,
        notes: Vec::new(),
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let mut created = session.engine.run(session.call(), create).await?;
    let made = created.items.pop().unwrap_or_else(|| Err(Error::validation(Reason::TooFew, "no item was made")))?;
    let mut answer = super::super::with_keys(&made, &session, &Names::default())?;
    if let Some(fields) = answer.as_object_mut() {
        // The item's name inside the call is no word of the caller's.
        fields.shift_remove("local");
    }
    shell.out.answer(&answer, |paint| render(&session, &made, paint))
}

fn new_item(shell: &Shell, args: &Args) -> Result<NewItem, Failure> {
    let title = Title::parse(&args.title).map_err(|invalid| invalid.at("title"))?;
    let description =
        values::text(&shell.around, args.description.as_deref(), args.description_file.as_deref(), "description")?;
    let summary = args.summary.as_deref().map(Summary::parse).transpose().map_err(|invalid| invalid.at("summary"))?;
    let complexity = args.complexity.map(Complexity::parse).transpose().map_err(|invalid| invalid.at("complexity"))?;
    let brief = args.brief.or_file(&shell.around, args.brief_file.as_deref(), "--brief-file")?;
    Ok(NewItem {
        brief: (!brief.is_empty()).then_some(brief),
        local: Some(LOCAL.to_owned()),
        parent: args.parent.as_deref().map(values::item).transpose()?.map(Parent::Existing),
        description,
        summary,
        intent: values::text(&shell.around, args.intent.as_deref(), None, "intent")?,
        status: args.status.as_deref().map(|status| values::name(status, "status")).transpose()?,
        priority: args.priority,
        complexity,
        item_type: args.item_type.as_deref().map(|name| values::name(name, "type")).transpose()?,
        tags: values::tags(&args.tags)?,
        traits: values::names(&args.traits, "traits")?,
        metadata: values::text(&shell.around, args.metadata.as_deref(), None, "metadata")?,
        requires_verification: args.requires_verification,
        attention: values::text(&shell.around, args.attention.as_deref(), None, "attention")?,
        due_at: args.due,
        estimate_minutes: args.estimate,
        position: args.position,
        touches: values::names(&args.touches, "touches")?,
        needs: values::names(&args.needs, "needs")?,
        required_capabilities: values::names(&args.capabilities, "capability")?,
        ..NewItem::titled(title)
    })
}

fn edges(args: &Args) -> Result<Vec<NewEdge>, Failure> {
    let own = || End::Local(LOCAL.to_owned());
    let blocks = |from, to| NewEdge { from, to, kind: EdgeKind::Blocks, unblock_at: None, inverse: false };
    let mut edges = Vec::new();
    for other in values::items(&args.blocked_by)? {
        edges.push(blocks(End::Existing(other), own()));
    }
    for other in values::items(&args.blocks)? {
        edges.push(blocks(own(), End::Existing(other)));
    }
    Ok(edges)
}

fn render(session: &Session, made: &CreatedItem, paint: Paint) -> Vec<String> {
    let item = &made.item;
    let mut lines = vec![format!(
        "{} {}  {}",
        paint.key(&session.key(item).to_string()),
        escape::line(item.title.as_str()),
        paint.dim(&format!("({})", escape::line(item.status.as_str())))
    )];
    for note in made.expected_notes.iter().filter(|note| note.required) {
        let key = escape::line(note.key.as_str());
        lines.push(paint.dim(&format!("  needs the note {key} before it leaves {}", note.phase)));
    }
    lines
}
