//! `docket item show`: everything about one item.

use std::collections::BTreeMap;

use docket_core::checks::Look;
use docket_core::contract::Verdict;
use docket_core::model::{Brief, Comment, Edge, EdgeKind, Item, ItemId, Link, Note, Question};
use docket_core::query::{Dependencies, Dossier, Includes, ItemContext};
use docket_core::readiness::Obstacle;
use docket_core::workflow::{ExpectedNote, Guide};
use serde::Serialize;

use super::super::contract::{brief_lines, question_lines, verdict_lines};
use super::super::{listing, values, why};
use crate::exit::Failure;
use crate::names::Names;
use crate::output::json::Keyed;
use crate::output::{Paint, escape, seconds};
use crate::session::{Access, Session, Shell};

/// Most children that a person is shown.
const CHILDREN: usize = 20;
/// Most comments that are shown, the newest first.
const COMMENTS: usize = 5;

const EXAMPLES: &str = "\
Examples:
  docket item show WEB-7
  docket item show 0199f3a2 --json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
}

/// Everything about one item.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "an answer on the wire, where each is a field of its own")]
struct Shown<'s> {
    item: Keyed<'s>,
    ancestors: Vec<Keyed<'s>>,
    has_schema: bool,
    expected_notes: &'s [ExpectedNote],
    missing: &'s [docket_core::model::Name],
    guide: &'s Guide,
    can_advance: bool,
    edges: &'s [Edge],
    notes: serde_json::Value,
    obstacles: &'s [Obstacle],
    #[serde(skip_serializing_if = "Option::is_none")]
    brief: Option<&'s Brief>,
    score: u8,
    verdict: &'s Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'s Question>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    links: &'s [Link],
    children: Vec<Keyed<'s>>,
    children_truncated: bool,
    /// The newest first.
    comments: &'s [Comment],
    comments_truncated: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Read).await?;
    let scope = session.scope();
    let context = session.engine.context(&scope, &item).await?;
    let edges = session.engine.dependencies(&scope, &item, false).await?;
    let (_, notes) = session.engine.notes_of(&scope, &item).await?;
    let reasons = session.engine.why(&scope, &item).await?;
    let obstacles: Vec<Obstacle> = reasons.into_iter().flat_map(|why| why.obstacles).collect();
    let includes = Includes { links: true, subtasks: true, comments: Some(COMMENTS), ..Includes::default() };
    let dossier = session.engine.dossier(&scope, &item, includes).await?;
    let project = session.projects.iter().find(|project| project.id == context.item.project);
    let look = match (&dossier.brief, project) {
        (Some(brief), Some(project)) => session.engine.look_at(project, &brief.checks, dossier.now).await,
        (None, _) | (_, None) => None,
    };
    let names = session.names(obstacles.iter().filter_map(why::other).chain([context.item.id])).await?;
    let keyed = |item| Keyed { key: session.key(item), item };
    let shown = Shown {
        item: keyed(&context.item),
        ancestors: context.ancestors.iter().map(keyed).collect(),
        has_schema: context.has_schema,
        expected_notes: &context.expected_notes,
        missing: &context.missing,
        guide: &context.guide,
        can_advance: context.can_advance(),
        edges: &edges.edges,
        notes: super::super::without_credentials(&notes)?,
        obstacles: &obstacles,
        brief: dossier.brief.as_ref(),
        score: dossier.score,
        verdict: &dossier.verdict,
        question: dossier.question.as_ref(),
        links: &dossier.links,
        children: dossier.subtasks.rows.iter().map(keyed).collect(),
        children_truncated: dossier.subtasks.truncated,
        comments: &dossier.comments.rows,
        comments_truncated: dossier.comments.truncated,
    };
    let answer = super::super::with_keys(&shown, &session, &names)?;
    shell.out.answer(&answer, |paint| {
        let mut lines = head(&session, &context, paint);
        lines.extend(texts(&context.item, paint));
        lines.extend(contract_of(&dossier, look.as_ref(), paint));
        lines.extend(notes_of(&context, &notes, paint));
        lines.extend(children_of(&session, &dossier, paint));
        lines.extend(edges_of(&session, &edges, paint));
        lines.extend(obstacles_of(&obstacles, &names, paint));
        lines.extend(comments_of(&dossier, paint));
        lines
    })
}

fn head(session: &Session, context: &ItemContext, paint: Paint) -> Vec<String> {
    let item = &context.item;
    let mut facts: Vec<(&str, String)> = Vec::new();
    let label = item.status_label.as_ref().map_or_else(String::new, |label| format!(", labelled {label}"));
    facts.push(("status", format!("{} ({}){label}", item.status, item.role)));
    facts.push(("priority", item.priority.as_str().to_owned()));
    if let Some(complexity) = item.complexity {
        facts.push(("complexity", complexity.get().to_string()));
    }
    if let Some(kind) = &item.item_type {
        facts.push(("type", kind.to_string()));
    }
    let joined =
        |names: &[docket_core::model::Name]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let tags: Vec<String> = item.tags.iter().map(ToString::to_string).collect();
    for (what, names) in [
        ("tags", tags.join(", ")),
        ("traits", joined(&item.traits)),
        ("touches", joined(&item.touches)),
        ("needs", joined(&item.needs)),
        ("capabilities", joined(&item.required_capabilities)),
    ] {
        if !names.is_empty() {
            facts.push((what, names));
        }
    }
    if !context.ancestors.is_empty() {
        let way: Vec<String> =
            context.ancestors.iter().map(|above| format!("{} {}", session.key(above), above.title)).collect();
        facts.push(("part of", way.join(" › ")));
    }
    if let Some(claim) = item.live_claim(context.now) {
        let until = claim
            .remaining_ms(context.now)
            .map_or_else(|| "until released".to_owned(), |left| format!("for {}", seconds(left)));
        facts.push(("claimed", format!("by {} {until}, fence {}", claim.holder, item.fence.0)));
    }
    if let Some(due) = item.due_at {
        facts.push(("due", listing::moment(due)));
    }
    if let Some(minutes) = item.estimate_minutes {
        facts.push(("estimate", format!("{minutes} min")));
    }
    if let Some(position) = item.position {
        facts.push(("position", position.to_string()));
    }
    if let Some(why) = &item.attention {
        facts.push(("attention", why.as_str().to_owned()));
    }
    if item.requires_verification {
        facts.push(("verification", "asked for".to_owned()));
    }
    facts.push((
        "changed",
        format!(
            "{} (made {}), version {}",
            listing::moment(item.modified_at),
            listing::moment(item.created_at),
            item.version
        ),
    ));
    facts.push(("id", item.id.to_string()));
    let title =
        format!("{} {}", paint.key(&session.key(item).to_string()), paint.bold(&escape::line(item.title.as_str())));
    let facts = facts
        .into_iter()
        .map(|(what, fact)| format!("  {} {}", paint.dim(&format!("{what:<12}")), escape::line(&fact)));
    std::iter::once(title).chain(facts).collect()
}

fn texts(item: &Item, paint: Paint) -> Vec<String> {
    let texts = [
        ("Summary", Some(item.summary.as_str()).filter(|text| !text.is_empty())),
        ("Intent", item.intent.as_ref().map(docket_core::model::Text::as_str)),
        ("Description", item.description.as_ref().map(docket_core::model::Text::as_str)),
        ("Metadata", item.metadata.as_ref().map(docket_core::model::Text::as_str)),
        ("Properties", item.properties.as_ref().map(docket_core::model::Text::as_str)),
    ];
    let mut lines = Vec::new();
    for (heading, text) in texts {
        if let Some(text) = text {
            lines.extend([String::new(), paint.bold(heading)]);
            lines.extend(escape::block(text).lines().map(|line| format!("  {line}")));
        }
    }
    lines
}

fn contract_of(dossier: &Dossier, look: Option<&Look>, paint: Paint) -> Vec<String> {
    let inside = |lines: Vec<String>| lines.into_iter().map(|line| format!("  {line}")).collect::<Vec<_>>();
    let mut lines = Vec::new();
    if let Some(brief) = &dossier.brief {
        lines.extend(under("Brief", inside(brief_lines(brief, dossier.score, look, paint)), paint));
        // Checks say what has to be shown, where no criteria do.
        if brief.checks.is_empty() || !dossier.verdict.criteria.is_empty() {
            lines.extend(inside(verdict_lines(&dossier.verdict, paint).into_iter().take(1).collect()));
        }
    }
    if let Some(question) = &dossier.question {
        lines.extend(under("Question", inside(question_lines(question, paint)), paint));
    }
    let outside = dossier.links.iter().map(|link| {
        let title = link.title.as_ref().map_or_else(String::new, |title| format!(" {}", escape::line(title.as_str())));
        let (kind, reference) = (escape::line(link.kind.as_str()), escape::line(link.reference.as_str()));
        format!("  {kind} {reference}{title}  {}", paint.dim(&escape::line(link.url.as_str())))
    });
    lines.extend(under("Links", outside.collect(), paint));
    lines
}

fn notes_of(context: &ItemContext, notes: &[Note], paint: Paint) -> Vec<String> {
    let expected: BTreeMap<&str, &ExpectedNote> =
        context.expected_notes.iter().map(|note| (note.key.as_str(), note)).collect();
    let mut lines = Vec::new();
    for note in &context.expected_notes {
        let state = match (note.filled, note.required) {
            (true, _) => paint.good("written"),
            (false, true) => paint.bad("missing"),
            (false, false) => paint.dim("optional"),
        };
        let about = escape::line(&note.description);
        lines.push(format!(
            "  {:<8} {} {state}  {}",
            note.phase.as_str(),
            escape::line(note.key.as_str()),
            paint.dim(&about)
        ));
    }
    for note in notes.iter().filter(|note| !expected.contains_key(note.key.as_str())) {
        lines.push(format!(
            "  {:<8} {} {}",
            note.phase.as_str(),
            escape::line(note.key.as_str()),
            paint.good("written")
        ));
    }
    under("Notes", lines, paint)
}

fn edges_of(session: &Session, edges: &Dependencies, paint: Paint) -> Vec<String> {
    let own = edges.item.id;
    let lines = edges.edges.iter().map(|edge| {
        let other: ItemId = edge.other(own);
        let shown = edges.ends.get(&other).map_or_else(
            || other.to_string(),
            |item| {
                format!(
                    "{} {} ({})",
                    paint.key(&session.key(item).to_string()),
                    escape::line(item.title.as_str()),
                    escape::line(item.status.as_str())
                )
            },
        );
        let at = edge.unblock_at.map_or_else(String::new, |role| format!(", until {role}"));
        format!("  {} {shown}{at}", relation(edge, edge.from == own))
    });
    under("Edges", lines.collect(), paint)
}

/// What an edge says, seen from one of its ends.
pub(in crate::command) fn relation(edge: &Edge, from_here: bool) -> &'static str {
    match (edge.kind, from_here) {
        (EdgeKind::Blocks, true) => "blocks",
        (EdgeKind::Blocks, false) => "is blocked by",
        (EdgeKind::RelatesTo, _) => "relates to",
        (EdgeKind::Supersedes, true) => "supersedes",
        (EdgeKind::Supersedes, false) => "is superseded by",
        (EdgeKind::DuplicateOf, true) => "is a duplicate of",
        (EdgeKind::DuplicateOf, false) => "is duplicated by",
    }
}

fn children_of(session: &Session, dossier: &Dossier, paint: Paint) -> Vec<String> {
    let line = |item: &Item| {
        let (title, status) = (escape::line(item.title.as_str()), escape::line(item.status.as_str()));
        format!("  {} {title} ({status})", paint.key(&session.key(item).to_string()))
    };
    let rows = &dossier.subtasks.rows;
    let mut lines: Vec<String> = rows.iter().take(CHILDREN).map(line).collect();
    if dossier.subtasks.truncated || rows.len() > CHILDREN {
        lines.push(paint.dim(&format!("  and more: docket tree {}", dossier.key)));
    }
    under("Children", lines, paint)
}

fn comments_of(dossier: &Dossier, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for comment in &dossier.comments.rows {
        let by = escape::line(comment.by.as_str());
        lines.push(paint.dim(&format!("  {by} at {}", listing::moment(comment.created_at))));
        lines.extend(escape::block(comment.body.as_str()).lines().map(|line| format!("    {line}")));
    }
    if dossier.comments.truncated {
        lines.push(paint.dim(&format!("  and older ones: docket comment {}", dossier.key)));
    }
    under("Comments", lines, paint)
}

fn obstacles_of(obstacles: &[Obstacle], names: &Names, paint: Paint) -> Vec<String> {
    let lines = obstacles.iter().map(|obstacle| format!("  {}", why::obstacle(obstacle, names, paint)));
    under("Not ready, because", lines.collect(), paint)
}

fn under(heading: &str, lines: Vec<String>, paint: Paint) -> Vec<String> {
    if lines.is_empty() {
        return lines;
    }
    [String::new(), paint.bold(heading)].into_iter().chain(lines).collect()
}
