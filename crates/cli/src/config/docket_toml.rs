//! `docket.toml`: what a project's rules are and how this process behaves. An unknown key or a bad value is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use docket_core::Gate;
use docket_core::model::{KeyPrefix, Name, Outcome, Role, Slug, Title, Trigger};
use docket_core::workflow::{
    ChecksWhen, Lifecycle, NoteLimits, NoteRule, RankBy, ReviewPhase, Schema, Status, Trait, Transitions, WaitsWhen,
    WhenFailed, Workflow,
};

use super::node::{ConfigError, Field};
use super::{ClaimsPatch, Configuration, WorkflowPatch, parse};

const ROLES: [(&str, Role); 5] = [
    ("queue", Role::Queue),
    ("work", Role::Work),
    ("review", Role::Review),
    ("blocked", Role::Blocked),
    ("terminal", Role::Terminal),
];
const GATES: [(&str, Gate); 7] = [
    ("transition", Gate::Transition),
    ("ownership", Gate::Ownership),
    ("dependencies", Gate::Dependencies),
    ("notes", Gate::Notes),
    ("criteria", Gate::Criteria),
    ("checks", Gate::Checks),
    ("descendants", Gate::Descendants),
];
pub(super) const LIFECYCLES: [(&str, Lifecycle); 4] = [
    ("auto", Lifecycle::Auto),
    ("manual", Lifecycle::Manual),
    ("permanent", Lifecycle::Permanent),
    ("auto-reopen", Lifecycle::AutoReopen),
];
pub(super) const PHASES: [(&str, Role); 3] = [("queue", Role::Queue), ("work", Role::Work), ("review", Role::Review)];
pub(super) const NOTE_LIMITS: [(&str, NoteLimits); 2] = [("warn", NoteLimits::Warn), ("reject", NoteLimits::Reject)];

/// Reads `docket.toml` into a configuration, over what is in it already.
pub(super) fn read(file: &Path, config: &mut Configuration) -> Result<(), ConfigError> {
    let text = parse::read_file(file)?;
    apply(file, &text, config)
}

/// The same for text that was read before.
pub(super) fn apply(file: &Path, text: &str, config: &mut Configuration) -> Result<(), ConfigError> {
    let tree = parse::toml(file, text)?;
    let mut settings = Field::root(file, &tree).settings()?;
    if let Some(field) = settings.get("project") {
        project(&field, config)?;
    }
    if let Some(field) = settings.get("workflow") {
        workflow(&field, config)?;
    }
    if let Some(field) = settings.get("schemas") {
        let types = &mut config.schemas.get_or_insert_default().types;
        for (entry, field) in field.entries()? {
            types.insert(name_of(&entry.key, &field)?, schema(&field, &mut config.given_traits)?);
        }
    }
    if let Some(field) = settings.get("traits") {
        let traits = &mut config.schemas.get_or_insert_default().traits;
        for (entry, field) in field.entries()? {
            traits.insert(name_of(&entry.key, &field)?, trait_of(&field)?);
        }
    }
    if let Some(field) = settings.get("store") {
        let mut store = field.settings()?;
        if let Some(field) = store.get("durability") {
            config.durability = Some(field.one_of(&super::DURABILITIES)?);
        }
        store.finish()?;
    }
    if let Some(field) = settings.get("identity") {
        super::identity::identity(&field, file.parent().unwrap_or(file), config)?;
    }
    if let Some(field) = settings.get("limits") {
        super::identity::limits(&field, config)?;
    }
    if let Some(field) = settings.get("embedder") {
        config.embedder = super::embedder::read(&field, file.parent().unwrap_or(file))?;
    }
    if let Some(field) = settings.get("server") {
        config.server = super::server::read(&field)?;
    }
    if let Some(field) = settings.get("runner") {
        config.runner = super::runner::read(&field, file.parent().unwrap_or(file))?;
    }
    if let Some(field) = settings.get("log") {
        let mut log = field.settings()?;
        if let Some(field) = log.get("level") {
            config.log_level = Some(field.one_of(&super::LOG_LEVELS)?);
        }
        if let Some(field) = log.get("format") {
            config.log_json = field.one_of(&[("text", false), ("json", true)])?;
        }
        log.finish()?;
    }
    if let Some(field) = settings.get("telemetry") {
        config.telemetry = super::telemetry::read(&field)?;
    }
    settings.finish()
}

fn project(field: &Field<'_>, config: &mut Configuration) -> Result<(), ConfigError> {
    let mut settings = field.settings()?;
    let project = &mut config.project;
    if let Some(field) = settings.get("slug") {
        project.slug = Some(field.parsed_by(Slug::parse)?);
    }
    if let Some(field) = settings.get("name") {
        project.name = Some(field.parsed_by(Title::parse)?);
    }
    if let Some(field) = settings.get("prefix") {
        project.prefix = Some(field.parsed_by(KeyPrefix::parse)?);
    }
    if let Some(field) = settings.get("preset") {
        let presets = Workflow::PRESETS.map(|name| (name, name));
        project.preset = Some(field.one_of(&presets)?);
    }
    if let Some(field) = settings.get("default_traits") {
        config.schemas.get_or_insert_default().default_traits =
            super::given_traits(Some(field), &mut config.given_traits)?;
    }
    settings.finish()
}

fn workflow(field: &Field<'_>, config: &mut Configuration) -> Result<(), ConfigError> {
    let mut settings = field.settings()?;
    let patch = config.workflow.get_or_insert_default();
    switches(&mut settings, patch)?;
    if let Some(field) = settings.get("statuses") {
        patch.statuses = Some(field.list()?.iter().map(status).collect::<Result<_, _>>()?);
    }
    if let Some(field) = settings.get("gates") {
        patch.gates =
            Some(field.list()?.iter().map(|gate| gate.one_of(&GATES)).collect::<Result<BTreeSet<Gate>, _>>()?);
    }
    if let Some(field) = settings.get("ranking") {
        let known = [
            ("brief", RankBy::Brief),
            ("priority", RankBy::Priority),
            ("unblocks", RankBy::Unblocks),
            ("complexity", RankBy::Complexity),
        ];
        patch.ranking = Some(field.list()?.iter().map(|by| by.one_of(&known)).collect::<Result<_, _>>()?);
    }
    if let Some(field) = settings.get("claims") {
        claims(&field, &mut patch.claims)?;
    }
    if let Some(field) = settings.get("labels") {
        patch.labels = labels(&field)?;
    }
    if let Some(field) = settings.get("note_limits") {
        config.schemas.get_or_insert_default().note_limits = field.one_of(&NOTE_LIMITS)?;
    }
    settings.finish()
}

fn switches(settings: &mut super::node::Settings<'_>, patch: &mut WorkflowPatch) -> Result<(), ConfigError> {
    if let Some(field) = settings.get("transitions") {
        patch.transitions = Some(field.one_of(&[("guided", Transitions::Guided), ("free", Transitions::Free)])?);
    }
    if let Some(field) = settings.get("review_phase") {
        patch.review_phase = Some(field.one_of(&[("always", ReviewPhase::Always), ("schema", ReviewPhase::Schema)])?);
    }
    if let Some(field) = settings.get("waits_when") {
        patch.waits_when = Some(field.one_of(&[("forward", WaitsWhen::Forward), ("leaving", WaitsWhen::Leaving)])?);
    }
    if let Some(field) = settings.get("checks_when") {
        patch.checks_when = Some(field.one_of(&[("success", ChecksWhen::Success), ("closed", ChecksWhen::Closed)])?);
    }
    if let Some(field) = settings.get("when_failed") {
        patch.when_failed = Some(field.one_of(&[("stays", WhenFailed::Stays), ("returns", WhenFailed::Returns)])?);
    }
    if let Some(field) = settings.get("check_timeout_default") {
        patch.check_timeout_default = Some(field.number()?);
    }
    if let Some(field) = settings.get("require_review") {
        patch.require_review = Some(field.flag()?);
    }
    if let Some(field) = settings.get("max_depth") {
        patch.max_depth = Some(field.number()?);
    }
    if let Some(field) = settings.get("close_parents") {
        patch.close_parents = Some(field.one_of(&LIFECYCLES)?);
    }
    if let Some(field) = settings.get("initial") {
        patch.initial = Some(field.parsed_by(Name::parse)?);
    }
    if let Some(field) = settings.get("reopened") {
        patch.reopened = Some(field.parsed_by(Name::parse)?);
    }
    if let Some(field) = settings.get("parked") {
        patch.parked = Some(field.parsed_by(Name::parse)?);
    }
    Ok(())
}

fn status(field: &Field<'_>) -> Result<Status, ConfigError> {
    let mut settings = field.settings()?;
    let name = settings.get("name").ok_or_else(|| field.error("a status needs a name"))?.parsed_by(Name::parse)?;
    let role = settings.get("role").ok_or_else(|| field.error("a status needs a role"))?.one_of(&ROLES)?;
    let claimable = settings.get("claimable").map(|field| field.flag()).transpose()?;
    let outcomes = [("success", Outcome::Success), ("cancelled", Outcome::Cancelled)];
    let outcome = settings.get("outcome").map(|field| field.one_of(&outcomes)).transpose()?;
    settings.finish()?;
    Ok(Status { name, role, claimable: claimable.unwrap_or(role != Role::Terminal), outcome })
}

fn claims(field: &Field<'_>, patch: &mut ClaimsPatch) -> Result<(), ConfigError> {
    let mut settings = field.settings()?;
    if let Some(field) = settings.get("ttl_seconds") {
        patch.ttl_seconds = Some(field.number()?);
    }
    if let Some(field) = settings.get("per_agent") {
        patch.per_agent = Some(field.number()?);
    }
    if let Some(field) = settings.get("renew_on_write") {
        patch.renew_on_write = Some(field.flag()?);
    }
    if let Some(field) = settings.get("stalled_after_seconds") {
        patch.stalled_after_seconds = Some(field.number()?);
    }
    if let Some(field) = settings.get("guarded") {
        patch.guarded = Some(field.flag()?);
    }
    settings.finish()
}

/// Labels by trigger; an empty text takes a preset's label away.
fn labels(field: &Field<'_>) -> Result<BTreeMap<Trigger, Option<Name>>, ConfigError> {
    let mut settings = field.settings()?;
    let mut labels = BTreeMap::new();
    for trigger in super::LABELLED {
        let Some(field) = settings.get(trigger.as_str()) else { continue };
        let label = if field.text()?.is_empty() { None } else { Some(field.parsed_by(Name::parse)?) };
        labels.insert(trigger, label);
    }
    settings.finish()?;
    Ok(labels)
}

fn schema(field: &Field<'_>, given: &mut Vec<(Name, ConfigError)>) -> Result<Schema, ConfigError> {
    let mut settings = field.settings()?;
    let lifecycle = settings.get("lifecycle").map(|field| field.one_of(&LIFECYCLES)).transpose()?;
    let default_traits = super::given_traits(settings.get("default_traits"), given)?;
    let notes = notes(settings.get("notes"))?;
    settings.finish()?;
    Ok(Schema { lifecycle, default_traits, notes })
}

fn trait_of(field: &Field<'_>) -> Result<Trait, ConfigError> {
    let mut settings = field.settings()?;
    let notes = notes(settings.get("notes"))?;
    let needs = names(settings.get("needs"))?;
    settings.finish()?;
    Ok(Trait { notes, needs })
}

fn notes(field: Option<Field<'_>>) -> Result<Vec<NoteRule>, ConfigError> {
    let Some(field) = field else { return Ok(Vec::new()) };
    let mut rules: Vec<NoteRule> = Vec::new();
    for field in field.list()? {
        let rule = note(&field)?;
        if rules.iter().any(|known| known.key == rule.key) {
            return Err(field.error(format!("there is a note \"{}\" here already", rule.key)));
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn note(field: &Field<'_>) -> Result<NoteRule, ConfigError> {
    let mut settings = field.settings()?;
    let key = settings.get("key").ok_or_else(|| field.error("a note needs a key"))?.parsed_by(Name::parse)?;
    let phase = settings.get("phase").ok_or_else(|| field.error("a note needs a phase"))?.one_of(&PHASES)?;
    let text = |field: Option<Field<'_>>| field.map(|field| field.text().map(ToOwned::to_owned)).transpose();
    let rule = NoteRule {
        key,
        phase,
        required: settings.get("required").map(|field| field.flag()).transpose()?.unwrap_or(false),
        description: text(settings.get("description"))?.unwrap_or_default(),
        guidance: text(settings.get("guidance"))?,
        skill: text(settings.get("skill"))?,
        max_length: settings.get("max_length").map(|field| field.number()).transpose()?,
    };
    settings.finish()?;
    Ok(rule)
}

fn names(field: Option<Field<'_>>) -> Result<Vec<Name>, ConfigError> {
    let Some(field) = field else { return Ok(Vec::new()) };
    field.list()?.iter().map(|field| field.parsed_by(Name::parse)).collect()
}

fn name_of(key: &str, field: &Field<'_>) -> Result<String, ConfigError> {
    Name::parse(key).map(String::from).map_err(|invalid| field.error(invalid.message))
}
