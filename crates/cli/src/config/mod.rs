//! What the files and the environment say: found, read, and turned into what a project's rules shall be.
//!
//! The rules themselves are the core's; here they are only spelled. What belongs to a project is applied to the database,
//! what belongs to the process stays here.

mod docket_toml;
pub(crate) mod embedder;
mod identity;
#[cfg(test)]
mod identity_tests;
pub(crate) mod locate;
mod nearest;
mod node;
mod parse;
pub(crate) mod runner;
pub(crate) mod server;
mod task_orchestrator;
pub(crate) mod telemetry;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trait_tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use docket_core::limits::Lowered;
use docket_core::model::{DegradedMode, KeyPrefix, Name, Slug, Title, Trigger};
use docket_core::workflow::{
    ChecksWhen, Lifecycle, RankBy, ReviewPhase, Schemas, Status, Transitions, WaitsWhen, WhenFailed, Workflow,
};
use docket_core::{Gate, Invalid, echo};
use docket_identity::{JwksSettings, Rate, TokenSettings};
use docket_store_sqlite::Durability;

pub(crate) use node::ConfigError;

use locate::Surroundings;
use node::Field;

/// The name of our own configuration file.
pub(crate) const DOCKET_TOML: &str = "docket.toml";
/// Where the task-orchestrator keeps its own.
pub(crate) const TASK_ORCHESTRATOR: &str = ".taskorchestrator/config.yaml";

const DURABILITIES: [(&str, Durability); 2] = [("full", Durability::Full), ("normal", Durability::Normal)];
const POLICIES: [(&str, DegradedMode); 3] = [
    ("accept-cached", DegradedMode::AcceptCached),
    ("accept-self-reported", DegradedMode::AcceptSelfReported),
    ("reject", DegradedMode::Reject),
];
const LOG_LEVELS: [(&str, &str); 6] =
    [("off", "off"), ("error", "error"), ("warn", "warn"), ("info", "info"), ("debug", "debug"), ("trace", "trace")];
/// The triggers that may leave a label.
const LABELLED: [Trigger; 8] = [
    Trigger::Start,
    Trigger::Complete,
    Trigger::Block,
    Trigger::Hold,
    Trigger::Resume,
    Trigger::Cancel,
    Trigger::Reopen,
    Trigger::Cascade,
];

/// What the files say, all together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configuration {
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) project: ProjectSettings,
    /// The switches that differ from the preset.
    pub(crate) workflow: Option<WorkflowPatch>,
    pub(crate) schemas: Option<Schemas>,
    /// The traits that the files give to items, each with the refusal of a name that no trait has.
    given_traits: Vec<(Name, ConfigError)>,
    pub(crate) durability: Option<Durability>,
    pub(crate) identity: Identity,
    pub(crate) server: server::Server,
    /// Where checks run, and which without approval.
    pub(crate) runner: runner::RunnerSettings,
    /// How often a caller over the network may call.
    pub(crate) rate: Option<Rate>,
    /// Limits that are lower than they might be.
    pub(crate) limits: Option<Lowered>,
    /// How many entries of knowledge the database may hold.
    pub(crate) knowledge_stored: Option<u64>,
    pub(crate) embedder: embedder::EmbedderSettings,
    pub(crate) log_level: Option<&'static str>,
    pub(crate) log_json: bool,
    pub(crate) telemetry: telemetry::Telemetry,
    /// What was passed over, to be told once there is somebody to tell it to.
    pub(crate) warnings: Vec<String>,
}

/// Which project the files are about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProjectSettings {
    pub(crate) slug: Option<Slug>,
    pub(crate) name: Option<Title>,
    pub(crate) prefix: Option<KeyPrefix>,
    pub(crate) preset: Option<&'static str>,
}

/// How actors are believed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Identity {
    pub(crate) policy: Option<DegradedMode>,
    pub(crate) require_actor: Option<bool>,
    /// How proofs of actors are checked, where they are.
    pub(crate) proofs: Option<JwksSettings>,
    /// How bearer tokens of callers are checked, where they are accepted.
    pub(crate) tokens: Option<TokenSettings>,
}

/// The switches of a workflow that a file changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WorkflowPatch {
    statuses: Option<Vec<Status>>,
    initial: Option<Name>,
    reopened: Option<Name>,
    parked: Option<Name>,
    transitions: Option<Transitions>,
    review_phase: Option<ReviewPhase>,
    require_review: Option<bool>,
    max_depth: Option<u8>,
    gates: Option<BTreeSet<Gate>>,
    waits_when: Option<WaitsWhen>,
    checks_when: Option<ChecksWhen>,
    when_failed: Option<WhenFailed>,
    check_timeout_default: Option<u32>,
    claims: ClaimsPatch,
    close_parents: Option<Lifecycle>,
    /// All labels, in place of the preset's.
    only_labels: Option<BTreeMap<Trigger, Name>>,
    /// Single labels; `None` takes one away.
    labels: BTreeMap<Trigger, Option<Name>>,
    ranking: Option<Vec<RankBy>>,
}

/// The same for leases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClaimsPatch {
    ttl_seconds: Option<u32>,
    per_agent: Option<u32>,
    renew_on_write: Option<bool>,
    stalled_after_seconds: Option<u32>,
    guarded: Option<bool>,
}

impl Configuration {
    /// Finds and reads the files, ours over the task-orchestrator's, and what the environment overrides.
    pub(crate) fn load(around: &Surroundings, explicit: Option<&Path>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        let ours = match explicit {
            Some(file) => Some(around.cwd.join(file)),
            None => around.find_up(DOCKET_TOML)?,
        };
        if let Some(file) = find_theirs(around, ours.as_deref())? {
            task_orchestrator::read(&file, &mut config)?;
            config.files.push(file);
        }
        if let Some(file) = ours {
            docket_toml::read(&file, &mut config)?;
            config.files.push(file);
        }
        config.check_traits()?;
        if let Some(policy) = &around.degraded_mode_policy {
            config.identity.policy = Some(policy.parse().map_err(|invalid: Invalid| ConfigError {
                file: PathBuf::from("environment"),
                place: None,
                key: "DEGRADED_MODE_POLICY".to_owned(),
                message: invalid.message,
            })?);
        }
        Ok(config)
    }

    /// Refuses a trait that items are given and that neither file describes: its notes would be asked of nobody, and no gate
    /// would say so.
    fn check_traits(&self) -> Result<(), ConfigError> {
        let known: Vec<&str> =
            self.schemas.iter().flat_map(|schemas| schemas.traits.keys()).map(String::as_str).collect();
        let Some((name, at)) = self.given_traits.iter().find(|(name, _)| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let message = format!("{}{}", at.message, node::suggestion(name.as_str(), &known));
        Err(ConfigError { message, ..at.clone() })
    }

    /// The workflow that the files ask for, given the one there is; `None` when they say nothing of it.
    pub(crate) fn workflow(&self, stored: Option<&Workflow>, otherwise: &str) -> Result<Option<Workflow>, Invalid> {
        if self.workflow.is_none() && self.project.preset.is_none() {
            return Ok(None);
        }
        let base = match (self.project.preset, stored) {
            (Some(preset), _) => Workflow::preset(preset)?,
            // A preset that a newer version brought stays as it is stored.
            (None, Some(stored)) => Workflow::preset(stored.preset.as_str()).unwrap_or_else(|_| stored.clone()),
            (None, None) => Workflow::preset(otherwise)?,
        };
        let workflow = self.workflow.clone().unwrap_or_default().onto(base);
        let workflow = match stored {
            Some(stored) => workflow.over(stored),
            None => workflow,
        };
        workflow.check()?;
        Ok(Some(workflow))
    }

    /// Whether the files say anything of a project's rules.
    pub(crate) fn has_rules(&self) -> bool {
        self.workflow.is_some()
            || self.schemas.is_some()
            || self.project.preset.is_some()
            || self.project.name.is_some()
            || self.project.prefix.is_some()
    }
}

impl WorkflowPatch {
    fn onto(self, mut workflow: Workflow) -> Workflow {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        if let Some(statuses) = self.statuses {
            workflow.statuses = statuses;
            // A preset's status for questions goes with the preset's statuses.
            workflow.parked = workflow.parked.take().filter(|name| workflow.status(name).is_some());
        }
        set(&mut workflow.initial, self.initial);
        set(&mut workflow.reopened, self.reopened);
        workflow.parked = self.parked.or(workflow.parked);
        set(&mut workflow.transitions, self.transitions);
        set(&mut workflow.review_phase, self.review_phase);
        set(&mut workflow.require_review, self.require_review);
        set(&mut workflow.max_depth, self.max_depth);
        set(&mut workflow.gates, self.gates);
        set(&mut workflow.waits_when, self.waits_when);
        set(&mut workflow.checks_when, self.checks_when);
        set(&mut workflow.when_failed, self.when_failed);
        set(&mut workflow.check_seconds, self.check_timeout_default);
        set(&mut workflow.claims.ttl_seconds, self.claims.ttl_seconds);
        set(&mut workflow.claims.per_agent, self.claims.per_agent);
        set(&mut workflow.claims.renew_on_write, self.claims.renew_on_write);
        set(&mut workflow.claims.stalled_after_seconds, self.claims.stalled_after_seconds);
        set(&mut workflow.claims.guarded, self.claims.guarded);
        set(&mut workflow.close_parents, self.close_parents);
        set(&mut workflow.labels, self.only_labels);
        set(&mut workflow.ranking, self.ranking);
        for (trigger, label) in self.labels {
            match label {
                Some(label) => workflow.labels.insert(trigger, label),
                None => workflow.labels.remove(&trigger),
            };
        }
        workflow
    }
}

/// The traits that items are given, kept with their places until all traits are known.
fn given_traits(field: Option<Field<'_>>, given: &mut Vec<(Name, ConfigError)>) -> Result<Vec<Name>, ConfigError> {
    let Some(field) = field else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for field in field.list()? {
        let name = field.parsed_by(Name::parse)?;
        given.push((name.clone(), field.error(format!("there is no trait \"{}\"", echo(name.as_str())))));
        names.push(name);
    }
    Ok(names)
}

/// The task-orchestrator's file: where its own variable says, else in the working folder, else beside ours or above.
fn find_theirs(around: &Surroundings, ours: Option<&Path>) -> Result<Option<PathBuf>, ConfigError> {
    if let Some(folder) = &around.agent_config_dir {
        let folder = around.cwd.join(folder);
        if !folder.is_dir() {
            return Err(ConfigError {
                file: folder,
                place: None,
                key: "AGENT_CONFIG_DIR".to_owned(),
                message: "names a folder that is not there".to_owned(),
            });
        }
        let file = folder.join(TASK_ORCHESTRATOR);
        return Ok(locate::exists(&file)?.then_some(file));
    }
    let beside = ours.and_then(Path::parent).map(|folder| folder.join(TASK_ORCHESTRATOR));
    match around.find_up(TASK_ORCHESTRATOR)? {
        Some(file) => Ok(Some(file)),
        None => match beside {
            Some(file) if locate::exists(&file)? => Ok(Some(file)),
            Some(_) | None => Ok(None),
        },
    }
}
