//! `.taskorchestrator/config.yaml`: the configuration of the task-orchestrator, read as it is.
//!
//! Its format is not ours, so a key that we do not know is a warning; but nothing that would loosen a rule is passed over:
//! a value that cannot be read stops the start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use docket_core::model::{Name, Trigger};
use docket_core::workflow::{NoteRule, Schema, Trait};
use docket_identity::JwksSettings;

use super::docket_toml::{LIFECYCLES, NOTE_LIMITS, PHASES};
use super::node::{ConfigError, Field, Settings};
use super::{Configuration, parse};

/// Reads the file into a configuration.
pub(super) fn read(file: &Path, config: &mut Configuration) -> Result<(), ConfigError> {
    let text = parse::read_file(file)?;
    apply(file, &text, config)
}

/// The same for text that was read before.
pub(super) fn apply(file: &Path, text: &str, config: &mut Configuration) -> Result<(), ConfigError> {
    let tree = parse::yaml(file, text)?;
    let mut settings = Field::root(file, &tree).settings()?;
    let mut warnings = Vec::new();
    let types = settings.get_set("work_item_schemas");
    let legacy = settings.get_set("note_schemas");
    match (types, legacy) {
        (Some(field), _) => {
            let types = &mut config.schemas.get_or_insert_default().types;
            for (entry, field) in field.entries()? {
                types.insert(name_of(&entry.key, &field)?, schema(&field, &mut config.given_traits, &mut warnings)?);
            }
        }
        (None, Some(field)) => {
            let types = &mut config.schemas.get_or_insert_default().types;
            for (entry, field) in field.entries()? {
                let notes = notes(Some(field.clone()), &mut warnings)?;
                types.insert(name_of(&entry.key, &field)?, Schema { notes, ..Schema::default() });
            }
        }
        (None, None) => {}
    }
    let shared = shared_resources(&mut settings, &mut warnings)?;
    if let Some(field) = settings.get_set("traits") {
        let traits = &mut config.schemas.get_or_insert_default().traits;
        for (entry, field) in field.entries()? {
            traits.insert(name_of(&entry.key, &field)?, trait_of(&field, &shared, &mut warnings)?);
        }
    }
    if let Some(field) = settings.get_set("default_traits") {
        config.schemas.get_or_insert_default().default_traits =
            super::given_traits(Some(field), &mut config.given_traits)?;
    }
    if let Some(field) = settings.get_set("note_limits") {
        let mut limits = field.settings()?;
        if let Some(mode) = limits.get_set("mode") {
            config.schemas.get_or_insert_default().note_limits = mode.one_of(&NOTE_LIMITS)?;
        }
        limits.finish_kindly(&mut warnings)?;
    }
    if let Some(field) = settings.get_set("status_labels") {
        config.workflow.get_or_insert_default().only_labels = Some(labels(&field, &mut warnings)?);
    }
    if let Some(field) = settings.get_set("actor_authentication") {
        authentication(&field, config, &mut warnings)?;
    }
    settings.finish_kindly(&mut warnings)?;
    config.warnings.extend(warnings);
    Ok(())
}

fn schema(
    field: &Field<'_>,
    given: &mut Vec<(Name, ConfigError)>,
    warnings: &mut Vec<String>,
) -> Result<Schema, ConfigError> {
    if field.is_null() {
        return Ok(Schema::default());
    }
    let mut settings = field.settings()?;
    let lifecycle = settings.get_set("lifecycle").map(|field| field.one_of(&LIFECYCLES)).transpose()?;
    let default_traits = super::given_traits(settings.get_set("default_traits"), given)?;
    let notes = notes(settings.get_set("notes"), warnings)?;
    settings.finish_kindly(warnings)?;
    Ok(Schema { lifecycle, default_traits, notes })
}

fn notes(field: Option<Field<'_>>, warnings: &mut Vec<String>) -> Result<Vec<NoteRule>, ConfigError> {
    let Some(field) = field.filter(|field| !field.is_null()) else { return Ok(Vec::new()) };
    let mut rules: Vec<NoteRule> = Vec::new();
    for field in field.list()? {
        let rule = note(&field, warnings)?;
        if rules.iter().any(|known| known.key == rule.key) {
            warnings.push(format!(
                "{}; the first one counts",
                field.error(format!("there is a note \"{}\" here already", rule.key))
            ));
            continue;
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn note(field: &Field<'_>, warnings: &mut Vec<String>) -> Result<NoteRule, ConfigError> {
    let mut settings = field.settings()?;
    let key = settings.get_set("key").ok_or_else(|| field.error("a note needs a key"))?.parsed_by(Name::parse)?;
    let phase = settings
        .get_set("role")
        .ok_or_else(|| field.error("a note needs a role: queue, work or review"))?
        .one_of(&PHASES)?;
    let text = |field: Option<Field<'_>>| field.map(|field| field.text().map(ToOwned::to_owned)).transpose();
    let long = settings.get_set("maxLength").or_else(|| settings.get_set("max_length"));
    let rule = NoteRule {
        key,
        phase,
        required: settings.get_set("required").map(|field| field.flag()).transpose()?.unwrap_or(false),
        description: text(settings.get_set("description"))?.unwrap_or_default(),
        guidance: text(settings.get_set("guidance"))?,
        skill: text(settings.get_set("skill"))?,
        max_length: long.map(|field| field.number()).transpose()?,
    };
    settings.finish_kindly(warnings)?;
    Ok(rule)
}

/// Resources that several may hold at once. Work on them is handed out one at a time all the same, and that is said.
fn shared_resources(settings: &mut Settings<'_>, warnings: &mut Vec<String>) -> Result<BTreeSet<String>, ConfigError> {
    let mut shared = BTreeSet::new();
    let Some(field) = settings.get_set("resources") else { return Ok(shared) };
    for (entry, field) in field.entries()?.into_iter().filter(|(_, field)| field.is_table()) {
        let mut resource = field.settings()?;
        let holders: i64 = resource.get_set("maxHolders").map(|field| field.number()).transpose()?.unwrap_or(1);
        for known in ["description", "defaultTtlSeconds"] {
            resource.get(known);
        }
        resource.finish_kindly(warnings)?;
        if holders > 1 {
            shared.insert(entry.key.clone());
        }
    }
    Ok(shared)
}

fn trait_of(field: &Field<'_>, shared: &BTreeSet<String>, warnings: &mut Vec<String>) -> Result<Trait, ConfigError> {
    if field.is_null() {
        return Ok(Trait::default());
    }
    let mut settings = field.settings()?;
    let notes = notes(settings.get_set("notes"), warnings)?;
    let mut needs = Vec::new();
    if let Some(field) = settings.get_set("resources") {
        for field in field.list()? {
            needs.extend(resource(&field, shared, warnings)?);
        }
    }
    settings.finish_kindly(warnings)?;
    Ok(Trait { notes, needs })
}

/// The name of a resource that is used alone; an advisory one keeps nobody away.
fn resource(
    field: &Field<'_>,
    shared: &BTreeSet<String>,
    warnings: &mut Vec<String>,
) -> Result<Option<Name>, ConfigError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mode {
        Exclusive,
        Advisory,
    }
    let (key, mode) = if field.is_table() {
        let mut settings = field.settings()?;
        let key =
            settings.get_set("key").ok_or_else(|| field.error("a resource needs a key"))?.parsed_by(Name::parse)?;
        let modes = [("exclusive", Mode::Exclusive), ("advisory", Mode::Advisory)];
        let mode = settings.get_set("mode").map(|field| field.one_of(&modes)).transpose()?.unwrap_or(Mode::Exclusive);
        settings.get("ttlSeconds");
        settings.finish_kindly(warnings)?;
        (key, mode)
    } else {
        (field.parsed_by(Name::parse)?, Mode::Exclusive)
    };
    if mode == Mode::Advisory {
        return Ok(None);
    }
    if shared.contains(key.as_str()) {
        let said = field.error(format!("\"{key}\" has maxHolders above 1; work on it is handed out one at a time"));
        warnings.push(said.to_string());
    }
    Ok(Some(key))
}

/// With this section only its own keys count, and null is no label; but work that was given up is always `cancelled`.
fn labels(field: &Field<'_>, warnings: &mut Vec<String>) -> Result<BTreeMap<Trigger, Name>, ConfigError> {
    let mut settings = field.settings()?;
    let mut labels = BTreeMap::new();
    for trigger in super::LABELLED {
        if let Some(field) = settings.get_set(trigger.as_str()) {
            labels.insert(trigger, field.parsed_by(Name::parse)?);
        }
    }
    if let Ok(cancelled) = Name::parse("cancelled") {
        labels.insert(Trigger::Cancel, cancelled);
    }
    settings.finish_kindly(warnings)?;
    Ok(labels)
}

fn authentication(
    field: &Field<'_>,
    config: &mut Configuration,
    warnings: &mut Vec<String>,
) -> Result<(), ConfigError> {
    let mut settings = field.settings()?;
    if let Some(field) = settings.get_set("enabled") {
        config.identity.require_actor = Some(field.flag()?);
    }
    if let Some(field) = settings.get_set("degraded_mode_policy") {
        config.identity.policy = Some(field.one_of(&super::POLICIES)?);
    }
    if let Some(field) = settings.get_set("verifier") {
        config.identity.proofs = verifier(&field, warnings)?;
    }
    settings.finish_kindly(warnings)
}

/// How proofs are checked; `None` where they are not. A file with keys is looked for beside the folder of this one.
fn verifier(field: &Field<'_>, warnings: &mut Vec<String>) -> Result<Option<JwksSettings>, ConfigError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Verifier {
        Noop,
        Jwks,
    }
    let mut settings = field.settings()?;
    let Some(kind) = settings.get_set("type") else { return Ok(None) };
    match kind.one_of(&[("noop", Verifier::Noop), ("jwks", Verifier::Jwks)])? {
        Verifier::Noop => Ok(None),
        Verifier::Jwks => {
            let folder = field.file().parent().and_then(std::path::Path::parent).unwrap_or(field.file());
            let keys = super::identity::keys(field, &mut settings, folder)?;
            settings.finish_kindly(warnings)?;
            Ok(Some(keys))
        }
    }
}

fn name_of(key: &str, field: &Field<'_>) -> Result<String, ConfigError> {
    Name::parse(key).map(String::from).map_err(|invalid| field.error(invalid.message))
}
