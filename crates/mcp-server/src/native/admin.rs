//! `admin`: projects, their settings, and keys.

use docket_core::access::Profile;
use docket_core::command::{CreateKey, KeySet, RevokeKey, RotateKey, SetProject, SetSettings};
use docket_core::model::{ApiKey, ItemRef, KeyPrefix, KeySecret, Project, Slug, Title};
use docket_core::workflow::{Settings, Workflow};
use docket_core::{Code, Error, Invalid, Kind, Reason, limits, wire};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::common::{Writer, must_allow};
use super::item_args::number;
use super::schema::{self, Effect, flag, object, text, texts, whole, word};
use super::split::{Split, put};
use crate::answer::Answer;
use crate::args::{name, one_of};
use crate::input::Fields;
use crate::session::Session;

const PROJECT: &[&str] = &["op", "slug", "name", "prefix", "preset", "archived", "actor", "requestId"];
const SETTINGS: &[&str] = &["op", "slug", "settings", "actor", "requestId"];
const CREATE_KEY: &[&str] = &["op", "name", "profile", "projects", "item", "lastsSeconds", "actor", "requestId"];
const CHANGE_KEY: &[&str] = &["op", "key", "lastsSeconds", "actor", "requestId"];
const KEYS: &[&str] = &["op", "all", "actor", "requestId"];

#[derive(Clone, Copy)]
enum Op {
    CreateProject,
    SetProject,
    Settings,
    CreateKey,
    RotateKey,
    RevokeKey,
    ListKeys,
}

const OPS: &[(&str, Op)] = &[
    ("project.create", Op::CreateProject),
    ("project.set", Op::SetProject),
    ("settings", Op::Settings),
    ("key.create", Op::CreateKey),
    ("key.rotate", Op::RotateKey),
    ("key.revoke", Op::RevokeKey),
    ("key.list", Op::ListKeys),
];

pub(super) fn tool() -> Tool {
    let ops: Vec<&str> = OPS.iter().map(|(word, _)| *word).collect();
    let properties = json!({
        "op": word(&ops),
        "slug": text(), "name": text(), "prefix": text(),
        "preset": word(&Workflow::PRESETS),
        "archived": flag(),
        "settings": object("{transitions,requireReview,maxDepth,gates:[],closeParents,checkSeconds,claims:{ttlSeconds,perAgent,renewOnWrite,stalledAfterSeconds}}"),
        "key": text(), "profile": word(&Profile::ALL.map(Profile::as_str)),
        "projects": texts(), "item": text(), "lastsSeconds": whole(), "all": flag(),
    });
    let about = "Projects (name, prefix, preset when made; archived), their settings (what is left out stays; none: as they are) and API keys (name, profile, projects or one item, how long \
                 they hold). A new secret is shown once.";
    schema::tool("admin", about, Effect::Destroys, properties, &["op"])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let op = arguments.get("op").and_then(Value::as_str).and_then(|text| one_of(OPS)(text).ok());
    let known = match op {
        Some(Op::CreateProject | Op::SetProject) => PROJECT,
        Some(Op::Settings) => SETTINGS,
        Some(Op::CreateKey) => CREATE_KEY,
        Some(Op::RotateKey | Op::RevokeKey) => CHANGE_KEY,
        Some(Op::ListKeys) | None => KEYS,
    };
    let mut fields = match op {
        Some(_) => Fields::open(arguments, known)?,
        // What is wrong with it is said first.
        None => Fields::open(arguments.into_iter().filter(|(name, _)| name == "op").collect(), known)?,
    };
    let op = fields.need("op", one_of(OPS))?;
    let writer = Writer::read(session, &mut fields)?;
    match op {
        Op::CreateProject => project(session, &writer, &mut fields, true).await,
        Op::SetProject => project(session, &writer, &mut fields, false).await,
        Op::Settings => settings(session, &writer, &mut fields).await,
        Op::CreateKey => create_key(session, &writer, &mut fields).await,
        Op::RotateKey => {
            let secret = new_secret()?;
            let (handle, digest) = (secret.handle().clone(), secret.digest());
            let (key, lasts) = (fields.need_text("key")?, lasts(&mut fields)?);
            let rotated = session.engine().run(writer.call(session), RotateKey { key, handle, digest, lasts }).await?;
            Ok(shown(&rotated, Some(&secret)))
        }
        Op::RevokeKey => {
            let key = fields.need_text("key")?;
            Ok(shown(&session.engine().run(writer.call(session), RevokeKey { key }).await?, None))
        }
        Op::ListKeys => {
            let all = fields.flag("all")?.unwrap_or(false);
            let (now, keys) = session.engine().keys().await?;
            let mut split = Split::default();
            let mut rows = Vec::new();
            let wanted: Vec<&ApiKey> = keys.iter().filter(|key| all || key.check(now).is_ok()).collect();
            for key in wanted.iter().take(limits::PAGE) {
                rows.push(Value::Object(key_value(key)));
                split.quote(key.handle.as_str(), json!({ "name": key.name }));
            }
            split.trusted.insert("keys".to_owned(), Value::Array(rows));
            if wanted.len() > limits::PAGE {
                // The newest are told; `docket key list` has them all.
                split.say("truncated", true);
                split.say("total", wanted.len());
            }
            Ok(split.answer())
        }
    }
}

async fn project(session: &Session, writer: &Writer, fields: &mut Fields, new: bool) -> Result<Answer, Error> {
    must_allow::<SetProject>(session)?;
    let slug = fields.need("slug", Slug::parse)?;
    let workflow = fields.parsed("preset", Workflow::preset)?;
    // A project that is changed must be there: a slip of the pen would make another.
    if !new && !session.engine().projects().await?.iter().any(|project| project.slug == slug) {
        return Err(Error::not_found(format!("no project \"{slug}\"")).at("slug"));
    }
    let set = SetProject {
        slug,
        name: fields.parsed("name", Title::parse)?,
        prefix: fields.parsed("prefix", KeyPrefix::parse)?,
        workflow,
        schemas: None,
        archived: fields.flag("archived")?,
        must_be_new: new,
    };
    let set = session.engine().run(writer.call(session), set).await?;
    Ok(project_answer(&set.project, set.changed))
}

/// The switches of a project, changed where some are said.
async fn settings(session: &Session, writer: &Writer, fields: &mut Fields) -> Result<Answer, Error> {
    must_allow::<SetSettings>(session)?;
    let slug = fields.need("slug", Slug::parse)?;
    let given = fields.value("settings").map(wire::from_value::<Settings>).transpose();
    let given = given.map_err(|error| {
        let field = error.field.as_deref().filter(|field| !field.is_empty());
        let field = field.map_or_else(|| "settings".to_owned(), |field| format!("settings.{field}"));
        Error { field: Some(field), ..error }
    })?;
    let mut split = Split::default();
    let project = match given {
        None => {
            let known = session.engine().projects().await?;
            let found = known.into_iter().find(|project| project.slug == slug);
            found.ok_or_else(|| Error::not_found(format!("no project \"{slug}\"")).at("slug"))?
        }
        Some(settings) => {
            let set = session.engine().run(writer.call(session), SetSettings { slug, settings }).await?;
            split.say("changed", set.changed);
            set.project
        }
    };
    split.say("slug", &project.slug);
    split.say("preset", &project.workflow.preset);
    split.say("settings", Settings::of(&project.workflow));
    Ok(split.answer())
}

fn project_answer(project: &Project, changed: bool) -> Answer {
    let mut split = Split::default();
    split.say("id", project.id);
    split.say("slug", &project.slug);
    split.say("prefix", &project.prefix);
    split.say("preset", &project.workflow.preset);
    split.say("archivedAt", project.archived_at);
    split.say("changed", changed);
    split.quote("name", &project.name);
    split.answer()
}

async fn create_key(session: &Session, writer: &Writer, fields: &mut Fields) -> Result<Answer, Error> {
    let secret = new_secret()?;
    let profile = fields.need("profile", str::parse::<Profile>)?;
    let command = CreateKey {
        handle: secret.handle().clone(),
        digest: secret.digest(),
        name: fields.parsed("name", name)?,
        profile,
        projects: fields.texts("projects", Slug::parse)?.unwrap_or_default(),
        item: fields.parsed("item", str::parse::<ItemRef>)?,
        lasts: lasts(fields)?,
    };
    Ok(shown(&session.engine().run(writer.call(session), command).await?, Some(&secret)))
}

/// A key, and its secret where it has just been made. A repeated request made another secret than the one that is stored:
/// it is not shown.
fn shown(set: &KeySet, secret: Option<&KeySecret>) -> Answer {
    let key = &set.key;
    let mut split = Split { trusted: key_value(key), ..Split::default() };
    let is_its_own = |secret: &&KeySecret| *secret.handle() == key.handle;
    split.say("secret", secret.filter(is_its_own).map(KeySecret::reveal));
    split.quote("name", &key.name);
    split.answer()
}

fn key_value(key: &ApiKey) -> Map<String, Value> {
    let mut told = Map::new();
    put(&mut told, "id", key.id);
    put(&mut told, "handle", key.handle.as_str());
    put(&mut told, "profile", key.profile.as_str());
    put(&mut told, "projects", &key.projects);
    put(&mut told, "item", key.item);
    put(&mut told, "expiresAt", key.expires_at);
    put(&mut told, "revokedAt", key.revoked_at);
    put(&mut told, "lastUsedAt", key.last_used_at);
    told
}

fn lasts(fields: &mut Fields) -> Result<Option<u32>, Error> {
    number(fields, "lastsSeconds", |seconds| {
        u32::try_from(seconds).map_err(|_| Invalid::new(Reason::BadValue, "must be seconds, from 60 to ten years"))
    })
}

fn new_secret() -> Result<KeySecret, Error> {
    let mut random = [0; 36];
    getrandom::fill(&mut random).map_err(|error| {
        tracing::error!(%error, "the system gives no randomness");
        Error::new(Kind::Transient, Code::Unavailable, Reason::StoreFailed, "no randomness for a secret")
    })?;
    Ok(KeySecret::new(random))
}
