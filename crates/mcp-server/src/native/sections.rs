//! An item's sections as `get` and the work packet show them.

use std::collections::BTreeMap;

use docket_core::limits;
use docket_core::model::{Item, Name};
use docket_core::query::{Activity, Dossier, ParentReach, ParentView, Section};
use docket_core::readiness::{Obstacle, What};
use docket_core::workflow::ExpectedNote;
use serde_json::{Map, Value, json};

use super::checks;
use super::error::{items_in, refusals};
use super::names::Names;
use super::split::{Split, put};
use super::view;
use crate::session::Session;

/// How much of an item is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Profile {
    /// Where it stands and what it is called.
    Compact,
    /// What whoever works on it needs.
    #[default]
    Work,
    /// Everything.
    Full,
}

impl Profile {
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Compact => &["priority", "title"],
            Self::Work => &[
                "priority",
                "complexity",
                "dueAt",
                "estimateMinutes",
                "title",
                "intent",
                "summary",
                "description",
                "type",
                "tags",
                "attention",
                "touches",
                "needs",
            ],
            Self::Full => &[
                "id",
                "outcome",
                "priority",
                "complexity",
                "depth",
                "position",
                "dueAt",
                "estimateMinutes",
                "requiresVerification",
                "createdAt",
                "modifiedAt",
                "roleChangedAt",
                "title",
                "intent",
                "summary",
                "description",
                "type",
                "label",
                "tags",
                "traits",
                "attention",
                "touches",
                "needs",
                "capabilities",
                "metadata",
                "properties",
            ],
        }
    }
}

/// Where an item stands. `holder` is who asks: whether the claim is theirs is said, and never whose else it is.
pub(super) fn guard(dossier: &Dossier, holder: Option<&Name>) -> Map<String, Value> {
    let item = &dossier.item;
    let mut told = known_by(dossier);
    put(&mut told, "score", dossier.score);
    put(&mut told, "ready", yes(dossier.obstacles.is_empty()));
    put(&mut told, "blocked", yes(dossier.is_blocked()));
    put(&mut told, "superseded", yes(dossier.is_superseded()));
    put(&mut told, "duplicate", yes(dossier.is_duplicate()));
    put(&mut told, "needsAttention", yes(item.attention.is_some()));
    put(&mut told, "openQuestion", dossier.open_question().map(|question| question.id));
    if let Some(claim) = item.live_claim(dossier.now) {
        let mut lease = Map::new();
        let mine = holder == Some(&claim.holder);
        put(&mut lease, "mine", mine);
        put(&mut lease, "fence", Some(item.fence).filter(|_| mine));
        put(&mut told, "claim", lease);
    }
    put(&mut told, "next", &dossier.next_statuses);
    told
}

/// The least that is always said.
pub(super) fn known_by(dossier: &Dossier) -> Map<String, Value> {
    let item = &dossier.item;
    let mut told = Map::new();
    put(&mut told, "key", &dossier.key);
    put(&mut told, "status", &item.status);
    put(&mut told, "role", item.role);
    put(&mut told, "version", item.version);
    told
}

/// The item's own fields. In full it also says what keeps it, and what would refuse its success.
pub(super) fn task(dossier: &Dossier, profile: Profile, names: &Names) -> Split {
    let mut split = view::item(&dossier.item, dossier.now, profile.fields());
    if profile != Profile::Compact {
        // The guard tells of the claim; its end would make every heartbeat a change.
        let others = dossier.obstacles.iter().filter(|obstacle| !matches!(obstacle.what, What::Claimed { .. }));
        split.say("obstacles", obstacles(&others.cloned().collect::<Vec<_>>(), names));
    }
    if profile == Profile::Full {
        split.say("closure", refusals(&dossier.closure, names));
        split.quote("holder", dossier.item.live_claim(dossier.now).map(|claim| &claim.holder));
    }
    split
}

/// An item's parent, as far as it was read.
pub(super) fn parent(parent: &ParentView, reach: ParentReach) -> Split {
    let item = &parent.item;
    let mut split = Split::default();
    split.say("key", &parent.key);
    split.say("status", &item.status);
    let [queue, work, review, blocked, terminal] = parent.tally.by_role;
    let mut children = json!({ "open": queue + work + review + blocked, "closed": terminal });
    if parent.tally_cut {
        children["more"] = json!(true);
    }
    split.say("children", children);
    split.quote("title", &item.title);
    split.quote("intent", &item.intent);
    if reach == ParentReach::Full {
        split.quote("summary", Some(item.summary.as_str()).filter(|summary| !summary.is_empty()));
        split.quote("description", &item.description);
        split.quote("brief", parent.brief.as_ref().map(view::brief));
        let siblings =
            parent.children.rows.iter().map(|child| (format!("{}-{}", parent.key.prefix, child.number), child));
        for (key, child) in siblings.take(limits::SIBLINGS) {
            split.quote(&key, json!({ "title": child.title }));
        }
        let cut = parent.children.truncated || parent.children.rows.len() > limits::SIBLINGS;
        split.say("cut", Some("find list with parent shows all children").filter(|_| cut));
        let comments: Vec<Value> =
            parent.comments.rows.iter().map(|comment| json!({ "by": comment.by, "body": comment.body })).collect();
        split.quote("comments", comments);
    }
    split
}

/// What was said last about an item, for whoever takes it up: a few comments, long ones cut.
pub(super) fn add_latest(split: &mut Split, dossier: &Dossier) {
    let mut cut = dossier.comments.truncated;
    let mut rows = Vec::new();
    for comment in dossier.comments.rows.iter().take(limits::PACKET_COMMENTS) {
        let body = comment.body.as_str();
        let end = body.floor_char_boundary(limits::PACKET_COMMENT_BYTES);
        cut |= end < body.len();
        rows.push(json!({ "by": comment.by, "body": &body[..end] }));
    }
    split.quote("comments", rows);
    split.say("commentsCut", Some("get with include comments").filter(|_| cut));
}

/// Notes that a phase expects and that are not there yet, with what their schema says of them.
pub(super) fn notes_owed(expected: &[ExpectedNote]) -> Vec<Value> {
    let told = |note: &ExpectedNote| {
        let mut told = Map::new();
        put(&mut told, "key", &note.key);
        put(&mut told, "optional", yes(!note.required));
        let words = note.guidance.as_ref().unwrap_or(&note.description);
        put(&mut told, "about", Some(words).filter(|words| !words.is_empty()));
        put(&mut told, "skill", &note.skill);
        Value::Object(told)
    };
    expected.iter().filter(|note| !note.filled).map(told).collect()
}

/// What keeps an item from being handed out, and the act that would clear it.
pub(super) fn obstacles(obstacles: &[Obstacle], names: &Names) -> Vec<Value> {
    obstacles.iter().map(|obstacle| obstacle_value(obstacle, names)).collect()
}

fn obstacle_value(obstacle: &Obstacle, names: &Names) -> Value {
    let mut told = Map::new();
    let mut say = |name: &str, value: Value| put(&mut told, name, value);
    let remedy = match &obstacle.what {
        What::Closed | What::Blocked => {
            say("reason", json!(if obstacle.what == What::Closed { "closed" } else { "blocked" }));
            obstacle.remedy.as_str()
        }
        What::NotClaimable { status } => {
            say("reason", json!("not-claimable"));
            say("status", json!(status));
            obstacle.remedy.as_str()
        }
        What::UnderWay => {
            say("reason", json!("under-way"));
            obstacle.remedy.as_str()
        }
        What::WaitsFor(blocker) => {
            say("reason", json!("waits-for"));
            say("item", json!(names.get(blocker.item)));
            say("is", json!(blocker.current_role));
            say("must", json!(blocker.required_role));
            "bring that item so far, or remove the edge"
        }
        What::SupersededBy { item } => {
            say("reason", json!("superseded-by"));
            say("item", json!(names.get(*item)));
            "cancel it, or remove the edge"
        }
        What::DuplicateOf { item } => {
            say("reason", json!("duplicate-of"));
            say("item", json!(names.get(*item)));
            "cancel it, or remove the edge"
        }
        What::Claimed { until } => {
            say("reason", json!("claimed"));
            say("until", json!(until));
            obstacle.remedy.as_str()
        }
        What::CollidesWith { item } => {
            say("reason", json!("collides-with"));
            say("item", json!(names.get(*item)));
            obstacle.remedy.as_str()
        }
        What::OutOfSight { count } => {
            say("reason", json!("out-of-sight"));
            say("count", json!(count));
            obstacle.remedy.as_str()
        }
        What::ChecksFailed { checks } => {
            say("reason", json!("checks-failed"));
            say("checks", json!(checks));
            "mend it, as its log says, then hand it in again"
        }
        What::ChecksNotApproved { checks } => {
            say("reason", json!("checks-not-approved"));
            say("checks", json!(checks));
            "have a person who did not write them approve them"
        }
        // Which capabilities is among the item's own fields.
        What::NeedsCapabilities { .. } | What::InReview => {
            say("reason", json!(if obstacle.what == What::InReview { "in-review" } else { "needs-capabilities" }));
            obstacle.remedy.as_str()
        }
    };
    say("remedy", json!(remedy));
    Value::Object(told)
}

/// Every item that obstacles name.
pub(super) fn items_of(obstacles: &[Obstacle]) -> Vec<docket_core::model::ItemId> {
    let of = |obstacle: &Obstacle| match &obstacle.what {
        What::WaitsFor(blocker) => Some(blocker.item),
        What::SupersededBy { item } | What::DuplicateOf { item } | What::CollidesWith { item } => Some(*item),
        What::Closed
        | What::Blocked
        | What::NotClaimable { .. }
        | What::UnderWay
        | What::Claimed { .. }
        | What::OutOfSight { .. }
        | What::ChecksFailed { .. }
        | What::ChecksNotApproved { .. }
        | What::NeedsCapabilities { .. }
        | What::InReview => None,
    };
    obstacles.iter().filter_map(of).collect()
}

/// The keys of all items that a dossier names.
pub(super) async fn names(session: &Session, dossier: &Dossier) -> Names {
    let named = items_of(&dossier.obstacles).into_iter().chain(dossier.closure.iter().flat_map(items_in));
    Names::of(session, named.collect()).await
}

/// The sections of a read, each with both its parts.
pub(super) fn sections(
    dossier: &Dossier,
    profile: Profile,
    reach: ParentReach,
    asked: &[Section],
    holder: Option<&Name>,
    names: &Names,
) -> BTreeMap<Section, Split> {
    let mut all = BTreeMap::new();
    for section in asked {
        let piece = match section {
            Section::Guard => Split { trusted: guard(dossier, holder), ..Split::default() },
            Section::Task => task(dossier, profile, names),
            Section::Parent => dossier.parent.as_ref().map(|view| parent(view, reach)).unwrap_or_default(),
            Section::Brief => {
                let words = dossier.brief.as_ref().map(view::brief).unwrap_or_default();
                Split { untrusted: words, ..Split::default() }
            }
            Section::Verdict => view::verdict(&dossier.verdict),
            Section::Question => dossier.question.as_ref().map(view::question).unwrap_or_default(),
            Section::Links => listed(dossier.links.iter().map(|link| {
                let mut row = Split::default();
                row.say("id", link.id);
                row.say("createdAt", link.created_at);
                for (name, value) in [
                    ("kind", link.kind.as_str()),
                    ("ref", link.reference.as_str()),
                    ("url", link.url.as_str()),
                    ("by", link.by.as_str()),
                ] {
                    row.quote(name, value);
                }
                row.quote("title", &link.title);
                row
            })),
            Section::Relations => relations(dossier),
            Section::Activity => listed(dossier.activity.iter().map(|event| activity(&Activity::from(event)))),
            Section::Subtasks => subtasks(dossier),
            Section::Comments => comments(dossier),
            Section::Notes => listed(dossier.notes.iter().map(|note| {
                let mut row = Split::default();
                row.say("id", note.id);
                row.say("phase", note.phase);
                row.say("modifiedAt", note.modified_at);
                row.quote("key", &note.key);
                row.quote("body", &note.body);
                row
            })),
            Section::Checks => dossier.brief.as_ref().map(|brief| checks::of(&brief.checks)).unwrap_or_default(),
            Section::Raw | Section::Rows => Split::default(),
        };
        if piece != Split::default() {
            all.insert(*section, piece);
        }
    }
    all
}

/// One line of what was done. The summary names fields and statuses alone.
pub(super) fn activity(line: &Activity) -> Split {
    let mut row = Split::default();
    row.say("action", &line.action);
    row.say("summary", Some(&line.summary).filter(|summary| !summary.is_empty()));
    row.say("at", line.created_at);
    row.quote("actor", &line.actor);
    row
}

/// Rows whose parts stand at the same places: `trusted.rows[0]` goes with `untrusted.rows[0]`.
pub(super) fn listed(rows: impl Iterator<Item = Split>) -> Split {
    let (trusted, untrusted): (Vec<Value>, Vec<Value>) =
        rows.map(|row| (Value::Object(row.trusted), Value::Object(row.untrusted))).unzip();
    let mut split = Split::default();
    split.say("rows", trusted);
    split.quote("rows", untrusted);
    split
}

fn comments(dossier: &Dossier) -> Split {
    let mut split = listed(dossier.comments.rows.iter().map(|comment| {
        let mut row = Split::default();
        row.say("id", comment.id);
        row.say("createdAt", comment.created_at);
        row.quote("by", &comment.by);
        row.quote("body", &comment.body);
        row
    }));
    split.say(
        "cut",
        Some("these are the newest: find events tells of the others").filter(|_| dossier.comments.truncated),
    );
    split
}

fn relations(dossier: &Dossier) -> Split {
    let mut split = Split::default();
    let mut rows = Vec::with_capacity(dossier.relations.len());
    for relation in &dossier.relations {
        let way = if relation.outgoing { "to" } else { "from" };
        rows.push(
            json!({ "edge": relation.edge, "kind": relation.kind, way: relation.key, "status": relation.other.status }),
        );
        split.quote(&relation.key.to_string(), json!({ "title": relation.other.title }));
    }
    split.say("rows", rows);
    split
}

fn subtasks(dossier: &Dossier) -> Split {
    let mut split = Split::default();
    let key = |item: &Item| format!("{}-{}", dossier.key.prefix, item.number);
    let rows: Vec<Value> =
        dossier.subtasks.rows.iter().map(|child| json!({ "key": key(child), "status": child.status })).collect();
    split.say("rows", rows);
    split.say("cut", Some("there are more: find them by their parent").filter(|_| dossier.subtasks.truncated));
    for child in &dossier.subtasks.rows {
        split.quote(&key(child), json!({ "title": child.title }));
    }
    split
}

fn yes(flag: bool) -> Option<bool> {
    flag.then_some(true)
}
