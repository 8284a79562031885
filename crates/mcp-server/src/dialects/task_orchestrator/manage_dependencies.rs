//! `manage_dependencies`: makes edges, one by one or by a pattern, and removes them.

use docket_core::command::{EdgeSpec, Holding, Link, Unlink};
use docket_core::model::{Attribution, EdgeId, EdgeKind, ItemRef, RequestId, Role};
use docket_core::{Code, Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::{THRESHOLDS, actor, check_many, end, fence, item_ref, one_of, request_id, role_of};
use super::render::{Dependency, FailedAt};
use super::schema::{self, Effect, count, flag, list, object, rows, text, texts, word, word_out};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &[
    "operation",
    "dependencies",
    "pattern",
    "type",
    "unblockAt",
    "itemIds",
    "source",
    "targets",
    "sources",
    "target",
    "id",
    "fromItemId",
    "toItemId",
    "deleteAll",
    "fence",
    "fenceOf",
    "actor",
    "requestId",
];
/// What only goes with making some.
const CREATE: [&str; 8] = ["dependencies", "pattern", "unblockAt", "itemIds", "source", "targets", "sources", "target"];
const DEPENDENCY: &[&str] = &["fromItemId", "toItemId", "type", "unblockAt"];

/// The edge types of this dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DependencyType {
    /// The first end holds up the second.
    #[default]
    Blocks,
    /// The second end holds up the first.
    IsBlockedBy,
    /// They have to do with each other.
    RelatesTo,
}

impl DependencyType {
    /// The type as it is written.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Blocks => "BLOCKS",
            Self::IsBlockedBy => "IS_BLOCKED_BY",
            Self::RelatesTo => "RELATES_TO",
        }
    }

    /// The engine's kind, and whether the ends are written the other way round.
    pub(super) fn edge(self) -> (EdgeKind, bool) {
        match self {
            Self::Blocks => (EdgeKind::Blocks, false),
            Self::IsBlockedBy => (EdgeKind::Blocks, true),
            Self::RelatesTo => (EdgeKind::RelatesTo, false),
        }
    }
}

/// The types by their names.
pub(super) const TYPES: &[(&str, DependencyType)] = &[
    ("BLOCKS", DependencyType::Blocks),
    ("IS_BLOCKED_BY", DependencyType::IsBlockedBy),
    ("RELATES_TO", DependencyType::RelatesTo),
];

#[derive(Clone, Copy)]
enum Operation {
    Create,
    Delete,
}

const OPERATIONS: &[(&str, Operation)] = &[("create", Operation::Create), ("delete", Operation::Delete)];

#[derive(Clone, Copy)]
enum Pattern {
    Linear,
    FanOut,
    FanIn,
}

const PATTERNS: &[(&str, Pattern)] =
    &[("linear", Pattern::Linear), ("fan-out", Pattern::FanOut), ("fan-in", Pattern::FanIn)];

pub(super) fn tool() -> Tool {
    let kinds = ["BLOCKS", "IS_BLOCKED_BY", "RELATES_TO"];
    let roles = ["queue", "work", "review", "terminal"];
    let dependency = json!({
        "fromItemId": text(""), "toItemId": text(""), "type": word(&kinds, ""), "unblockAt": word(&roles, ""),
    });
    let input = object(
        json!({
            "operation": word(&["create", "delete"], ""),
            "dependencies": list(&object(dependency, &["fromItemId", "toItemId"]), "create: these; or a pattern"),
            "pattern": word(&["linear", "fan-out", "fan-in"], "create: A→B→C of itemIds; source→targets; sources→target"),
            "type": word(&kinds, "default BLOCKS; delete: only these"),
            "unblockAt": word(&roles, "how far the blocker must come; default terminal; not on RELATES_TO"),
            "itemIds": texts(""), "source": text(""), "targets": texts(""), "sources": texts(""), "target": text(""),
            "id": text("delete: one dependency by UUID"),
            "fromItemId": text("delete: between two items"), "toItemId": text(""),
            "deleteAll": flag("delete: all of fromItemId or toItemId"),
            "fence": schema::fence(), "fenceOf": text("whose fence it is"),
            "actor": schema::actor(""),
            "requestId": schema::request_id(),
        }),
        &["operation"],
    );
    let output = json!({
        "dependencies": rows(), "created": count(), "failed": count(), "failures": rows(), "deleted": count(),
        "id": word_out(), "itemId": word_out(), "fromItemId": word_out(), "toItemId": word_out(),
    });
    let about = "Create dependencies (all or none; cycles and duplicates are refused) or delete them: by id, between two items, or \
                 all of one item.";
    schema::tool("manage_dependencies", about, Effect::Destroys, input, output)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let operation = fields.need("operation", one_of(OPERATIONS))?;
    let request = request_id(&mut fields)?;
    let by = actor(session, &mut fields, "actor")?;
    match operation {
        Operation::Create => create(session, fields, by, request).await,
        Operation::Delete => delete(session, fields, by, request).await,
    }
}

#[derive(Serialize)]
struct CreateAnswer {
    dependencies: Vec<Dependency>,
    created: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedAt>,
}

/// The item that the caller holds, with its fence. A dependency has two ends, so a fence alone would not say whose it is.
fn holding(fields: &mut Fields) -> Result<Option<Holding>, Error> {
    match (fence(fields)?, fields.parsed("fenceOf", item_ref)?) {
        (None, None) => Ok(None),
        (Some(fence), Some(item)) => Ok(Some(Holding { item, fence })),
        (Some(_), None) => {
            Err(Error::validation(Reason::MissingField, "fence needs fenceOf: whose it is").at("fenceOf"))
        }
        (None, Some(_)) => Err(Error::validation(Reason::MissingField, "fenceOf needs fence").at("fence")),
    }
}

/// What all dependencies of a call share where they say nothing of their own.
#[derive(Clone, Copy)]
struct Shared {
    kind: DependencyType,
    unblock_at: Option<Role>,
}

async fn create(
    session: &Session,
    mut fields: Fields,
    by: Option<Attribution>,
    request: Option<RequestId>,
) -> Result<Answer, Error> {
    let shared = Shared {
        kind: fields.parsed("type", one_of(TYPES))?.unwrap_or_default(),
        unblock_at: fields.parsed("unblockAt", role_of(THRESHOLDS))?,
    };
    let holding = holding(&mut fields)?;
    let listed = fields.list("dependencies")?;
    let pattern = fields.parsed("pattern", one_of(PATTERNS))?;
    let read =
        match (listed, pattern) {
            (Some(_), Some(_)) => {
                return Err(Error::validation(Reason::BadValue, "give either dependencies or a pattern, not both")
                    .at("pattern"));
            }
            (None, None) => {
                return Err(Error::validation(Reason::MissingField, "create needs dependencies or a pattern")
                    .at("dependencies"));
            }
            (Some(listed), None) => read_listed(listed, shared)?,
            (None, Some(pattern)) => read_pattern(&mut fields, pattern, shared).map_err(|error| Fault {
                failed: 1,
                index: 0,
                error: Box::new(error),
            }),
        };
    if read.is_ok() {
        end(&mut fields)?;
    }
    let edges = match read {
        Ok(edges) => edges,
        Err(fault) if fault.error.reason == Reason::BatchTooLarge => return Err(*fault.error),
        Err(Fault { failed, index, error }) => return Ok(refused(failed, index, &error)),
    };
    let asked = edges.len();
    let command = Link { project: session.project().clone(), edges, holding };
    match session.engine().run(session.call(by, request), command).await {
        Ok(linked) => {
            let dependencies: Vec<Dependency> = linked.edges.iter().map(Dependency::of).collect();
            Ok(Answer::of(&CreateAnswer {
                created: dependencies.len(),
                dependencies,
                failed: None,
                failures: Vec::new(),
            }))
        }
        Err(error) if is_refusal(&error) => Ok(refused(asked, place(&error), &error)),
        Err(error) => Err(error),
    }
}

/// What was asked for but cannot be read.
struct Fault {
    /// How many are not made.
    failed: usize,
    /// The place of the first that is at fault.
    index: usize,
    /// What is wrong with it.
    error: Box<Error>,
}

fn read_listed(listed: Vec<Value>, shared: Shared) -> Result<Result<Vec<EdgeSpec>, Fault>, Error> {
    let asked = listed.len();
    if asked == 0 {
        return Err(Error::validation(Reason::TooFew, "dependencies must not be empty").at("dependencies"));
    }
    check_many("dependencies", asked)?;
    let fault = |index, error| Fault { failed: asked, index, error: Box::new(error) };
    let read = |(index, value)| read_one(index, value, shared).map_err(|error| fault(index, error));
    Ok(listed.into_iter().enumerate().map(read).collect())
}

fn read_one(index: usize, value: Value, shared: Shared) -> Result<EdgeSpec, Error> {
    let mut fields = Fields::inside(&format!("dependencies[{index}]"), value, DEPENDENCY)?;
    let from = fields.need("fromItemId", item_ref)?;
    let to = fields.need("toItemId", item_ref)?;
    let kind = fields.parsed("type", one_of(TYPES))?.unwrap_or(shared.kind);
    let unblock_at = fields.parsed("unblockAt", role_of(THRESHOLDS))?.or(shared.unblock_at);
    Ok(spec(from, to, Shared { kind, unblock_at }))
}

fn read_pattern(fields: &mut Fields, pattern: Pattern, shared: Shared) -> Result<Vec<EdgeSpec>, Error> {
    let pairs: Vec<(ItemRef, ItemRef)> = match pattern {
        Pattern::Linear => {
            let items = many(fields, "itemIds", 2)?;
            items.windows(2).filter_map(|pair| Some((pair.first()?.clone(), pair.get(1)?.clone()))).collect()
        }
        Pattern::FanOut => {
            let source = fields.need("source", item_ref)?;
            many(fields, "targets", 1)?.into_iter().map(|target| (source.clone(), target)).collect()
        }
        Pattern::FanIn => {
            let target = fields.need("target", item_ref)?;
            many(fields, "sources", 1)?.into_iter().map(|source| (source, target.clone())).collect()
        }
    };
    Ok(pairs.into_iter().map(|(from, to)| spec(from, to, shared)).collect())
}

fn many(fields: &mut Fields, name: &str, least: usize) -> Result<Vec<ItemRef>, Error> {
    let items = fields.texts(name, item_ref)?.ok_or_else(|| fields.missing(name))?;
    if items.len() < least {
        return Err(Error::validation(Reason::TooFew, format!("{name} needs at least {least} item(s)")).at(name));
    }
    check_many(name, items.len())?;
    Ok(items)
}

fn spec(from: ItemRef, to: ItemRef, shared: Shared) -> EdgeSpec {
    let (kind, inverse) = shared.kind.edge();
    let (from, to) = if inverse { (to, from) } else { (from, to) };
    EdgeSpec { from, to, kind, unblock_at: shared.unblock_at, inverse }
}

/// Whether an error is about the dependencies asked for: those are answered as failures, not as a failed call.
fn is_refusal(error: &Error) -> bool {
    match error.code {
        Code::Validation => error.reason != Reason::BatchTooLarge,
        Code::NotFound => true,
        Code::Conflict => error.reason == Reason::Duplicate,
        Code::Forbidden | Code::RuleBlocked | Code::ProjectRequired | Code::RateLimited | Code::Unavailable => false,
    }
}

/// The place that the engine names in `dependencies[3]`.
fn place(error: &Error) -> usize {
    let field = error.field.as_deref().unwrap_or_default();
    field.strip_prefix("dependencies[").and_then(|rest| rest.split(']').next()?.parse().ok()).unwrap_or(0)
}

fn refused(failed: usize, index: usize, error: &Error) -> Answer {
    let failures = vec![FailedAt { index, error: error.message.clone() }];
    Answer::of(&CreateAnswer { dependencies: Vec::new(), created: 0, failed: Some(failed), failures })
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeleteAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<EdgeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_item_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_item_id: Option<String>,
    deleted: usize,
}

async fn delete(
    session: &Session,
    mut fields: Fields,
    by: Option<Attribution>,
    request: Option<RequestId>,
) -> Result<Answer, Error> {
    let holding = holding(&mut fields)?;
    let (command, mut answer) = unlink(session, &mut fields)?;
    // Whatever was said beside it was meant to narrow what goes.
    for name in CREATE {
        if fields.value(name).is_some() {
            let message = format!("{name} does not go with delete: it would narrow nothing");
            return Err(Error::validation(Reason::BadValue, message).at(name));
        }
    }
    end(&mut fields)?;
    answer.deleted = session.engine().run(session.call(by, request), command.held_by(holding)).await?.edges.len();
    Ok(Answer::of(&answer))
}

/// Which edges go: one by its id, those between two items, or all of an item. What does not go together is refused, since to
/// pass over any of it would remove more than was meant.
fn unlink(session: &Session, fields: &mut Fields) -> Result<(Unlink, DeleteAnswer), Error> {
    let id = fields.parsed("id", str::parse::<EdgeId>)?;
    let from = fields.parsed("fromItemId", item_ref)?;
    let to = fields.parsed("toItemId", item_ref)?;
    let kind = fields.parsed("type", one_of(TYPES))?.map(DependencyType::edge);
    let all = fields.flag("deleteAll")?.unwrap_or(false);
    let refused = |reason, field: &str, message: &str| Err(Error::validation(reason, message).at(field));
    let (project, none) = (session.project().clone(), DeleteAnswer::default());
    match (id, all, from, to) {
        (Some(id), false, None, None) if kind.is_none() => {
            Ok((Unlink::Edge(id), DeleteAnswer { id: Some(id), ..none }))
        }
        (Some(_), ..) => refused(Reason::BadValue, "id", "id goes alone: it names one dependency"),
        (None, true, Some(_), Some(_)) => {
            let message = "deleteAll goes with fromItemId or toItemId: with both, leave deleteAll out";
            refused(Reason::BadValue, "deleteAll", message)
        }
        (None, true, Some(item), None) | (None, true, None, Some(item)) => {
            let item_id = Some(item.to_string());
            Ok((Unlink::Of { project, item, kind }, DeleteAnswer { item_id, ..none }))
        }
        (None, false, Some(from), Some(to)) => {
            let (from_item_id, to_item_id) = (Some(from.to_string()), Some(to.to_string()));
            Ok((Unlink::Written { project, from, to, kind }, DeleteAnswer { from_item_id, to_item_id, ..none }))
        }
        (None, true, None, None) => {
            refused(Reason::MissingField, "fromItemId", "deleteAll needs fromItemId or toItemId")
        }
        (None, false, _, _) => {
            let message = "delete needs id, or fromItemId and toItemId, or deleteAll with one of them";
            refused(Reason::MissingField, "id", message)
        }
    }
}
