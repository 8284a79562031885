//! Reading and finding configuration: what is right is taken over, what is wrong is told with its place.

use std::path::{Path, PathBuf};

use docket_core::Gate;
use docket_core::model::{DegradedMode, Role, Trigger};
use docket_core::workflow::{Lifecycle, NoteLimits, RankBy, Transitions, Workflow};
use docket_store_sqlite::Durability;

use super::locate::{Origin, Surroundings, folders};
use super::{ConfigError, Configuration, docket_toml, task_orchestrator};
use crate::database::Place;

pub(super) fn toml(text: &str) -> Result<Configuration, ConfigError> {
    let mut config = Configuration::default();
    docket_toml::apply(Path::new("docket.toml"), text, &mut config).map(|()| config)
}

fn yaml(text: &str) -> Result<Configuration, ConfigError> {
    let mut config = Configuration::default();
    task_orchestrator::apply(Path::new("config.yaml"), text, &mut config).map(|()| config)
}

pub(super) fn error(read: Result<Configuration, ConfigError>) -> String {
    read.expect_err("a mistake").to_string()
}

pub(super) fn around(cwd: &Path) -> Surroundings {
    Surroundings { cwd: cwd.to_owned(), ..Surroundings::default() }
}

pub(super) fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("a file");
}

const WHOLE: &str = r#"
[project]
slug = "web"
name = "Web shop"
prefix = "web"
preset = "standard"

[workflow]
transitions = "free"
require-review = true
max_depth = 4
gates = ["dependencies", "notes", "criteria"]
ranking = ["brief", "complexity"]
parked = "blocked"
claims.ttl_seconds = 60
claims.per_agent = 0
close_parents = "auto_reopen"
note_limits = "reject"

[workflow.labels]
start = "busy"

[[schemas.bug.notes]]
key = "cause"
phase = "work"
required = true
description = "Why it broke"
max_length = 500

[schemas.bug]
lifecycle = "manual"
default_traits = ["tested"]

[traits.tested]
needs = ["ci"]
notes = [{ key = "proof", phase = "review", guidance = "Paste it.", skill = "prove" }]

[store]
durability = "normal"

[identity]
degraded_mode_policy = "reject"
require_actor = true

[log]
level = "debug"
"#;

#[test]
fn every_key_of_docket_toml_is_read() {
    let config = toml(WHOLE).expect("a good file");
    assert_eq!(config.project.slug.as_ref().map(ToString::to_string), Some("web".to_owned()));
    assert_eq!(config.project.prefix.as_ref().map(ToString::to_string), Some("WEB".to_owned()));
    assert_eq!(config.durability, Some(Durability::Normal));
    assert_eq!(config.identity.policy, Some(DegradedMode::Reject));
    assert_eq!(config.identity.require_actor, Some(true));
    assert_eq!(config.log_level, Some("debug"));
    let workflow = config.workflow(None, "task-orchestrator").expect("a workflow").expect("a workflow");
    assert_eq!(workflow.transitions, Transitions::Free);
    assert!(workflow.require_review);
    assert_eq!(workflow.max_depth, 4);
    assert_eq!(workflow.gates, [Gate::Dependencies, Gate::Notes, Gate::Criteria].into());
    assert_eq!(workflow.ranking, [RankBy::Brief, RankBy::Complexity]);
    assert_eq!(workflow.parked().map(|status| status.name.to_string()), Some("blocked".to_owned()));
    assert_eq!((workflow.claims.ttl_seconds, workflow.claims.per_agent, workflow.claims.renew_on_write), (60, 0, true));
    assert_eq!(workflow.close_parents, Lifecycle::AutoReopen);
    assert_eq!(workflow.labels.get(&Trigger::Start).map(ToString::to_string), Some("busy".to_owned()));
    assert_eq!(workflow.statuses, Workflow::standard().statuses);
    let schemas = config.schemas.expect("schemas");
    assert_eq!(schemas.note_limits, NoteLimits::Reject);
    let bug = &schemas.types["bug"];
    assert_eq!((bug.lifecycle, bug.notes.len()), (Some(Lifecycle::Manual), 1));
    assert_eq!((bug.notes[0].phase, bug.notes[0].required, bug.notes[0].max_length), (Role::Work, true, Some(500)));
    let tested = &schemas.traits["tested"];
    assert_eq!((tested.notes[0].phase, tested.notes[0].required), (Role::Review, false));
    assert_eq!(tested.needs.len(), 1);
}

#[test]
fn the_status_for_questions_goes_with_the_statuses_of_the_preset() {
    let own = |parked: &str| {
        format!(
            "[project]\npreset = 'standard'\n[workflow]\ninitial = 'todo'\nreopened = 'todo'\n{parked}\nstatuses = [\
             {{ name = 'todo', role = 'queue' }}, {{ name = 'doing', role = 'work' }}, {{ name = 'review', role = 'review' }}, \
             {{ name = 'stuck', role = 'blocked' }}, {{ name = 'asked', role = 'blocked' }}, \
             {{ name = 'done', role = 'terminal', outcome = 'success' }}, \
             {{ name = 'dropped', role = 'terminal', outcome = 'cancelled' }}]"
        )
    };
    let parked = |text: &str| {
        let config = toml(text).expect("a good file");
        let workflow = config.workflow(None, "standard").map(|workflow| workflow.expect("a workflow"));
        workflow.map(|workflow| workflow.parked().map(|status| status.name.to_string()))
    };
    assert_eq!(parked("[project]\npreset = 'standard'").expect("a workflow").as_deref(), Some("waiting_for_input"));
    assert_eq!(parked(&own("")).expect("a workflow").as_deref(), Some("stuck"), "the first of its role");
    assert_eq!(parked(&own("parked = 'asked'")).expect("a workflow").as_deref(), Some("asked"));
    assert!(parked(&own("parked = 'doing'")).is_err(), "work is not parked in a status of work");
}

#[test]
fn a_mistake_in_docket_toml_is_told_with_its_place_and_the_nearest_name() {
    for (text, parts) in [
        ("[projct]\nslug = 'a'", vec!["docket.toml:1:2", "projct", "unknown key", "did you mean \"project\""]),
        ("[workflow]\n\nrequire_reviw = true", vec![":3:1", "workflow.require_reviw", "\"require_review\""]),
        ("[workflow]\ntransitions = 'guidd'", vec![":2:15", "workflow.transitions", "\"guided\""]),
        ("[workflow]\nmax_depth = 'deep'", vec![":2:13", "must be a whole number, not text"]),
        ("[workflow]\nmax_depth = 300", vec![":2:13", "300 is too small or too large"]),
        ("[workflow]\nmax_depth = 1.5", vec![":2:13", "not a fraction"]),
        ("[workflow]\ngates = ['note']", vec![":2:10", "workflow.gates[0]", "\"notes\""]),
        ("[workflow]\nclaims.ttl = 3", vec![":2:8", "workflow.claims.ttl", "ttl_seconds"]),
        ("[workflow.labels]\nstrt = 'x'", vec![":2:1", "\"start\""]),
        ("[workflow]\nrequire_review = true\nrequire-review = false", vec![":3:1", "set twice: here and in line 2"]),
        ("[project]\nslug = 'Not A Slug'", vec![":2:8", "project.slug", "lower-case"]),
        ("[project]\npreset = 'standart'", vec![":2:10", "\"standard\""]),
        ("[schemas.bug]\nnotes = [{ key = 'a' }]", vec![":2:10", "schemas.bug.notes[0]", "needs a phase"]),
        ("[schemas.bug]\nnotes = [{ key = 'a', phase = 'wrk' }]", vec![":2:31", "\"work\""]),
        (
            "[[schemas.bug.notes]]\nkey = 'a'\nphase = 'work'\n[[schemas.bug.notes]]\nkey = 'a'\nphase = 'work'",
            vec!["already"],
        ),
        ("[store]\ndurability = 'safe'", vec![":2:14", "full, normal"]),
        ("[identity]\nrequire_actor = 'yes'", vec![":2:17", "true or false"]),
        ("[log]\nlevel = 'loud'", vec![":2:9", "log.level", "trace"]),
        ("[project\nslug = 'a'", vec!["docket.toml:1:9"]),
        ("[log]\nlevel = 'info'\nlevel = 'warn'", vec!["docket.toml:3:1", "duplicate key"]),
        ("project = 3", vec![":1:11", "must be a table"]),
        ("x = \"\\ud800\"", vec!["docket.toml:1:"]),
    ] {
        let told = error(toml(text));
        for part in parts {
            assert!(told.contains(part), "{text:?}: {part:?} is not in {told:?}");
        }
    }
}

#[test]
fn what_is_repeated_from_a_file_is_short_and_harmless() {
    let told = error(toml(&format!("[log]\nlevel = \"{}\"", "x".repeat(5000))));
    assert!(told.len() < 400, "{told}");
    let told = error(toml(&format!("\"{}\" = 1", "k".repeat(5000))));
    assert!(told.len() < 600, "{told}");
    assert!(!error(toml("\"\\u001b[31m\" = 1")).contains('\u{1b}'));
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(toml(&deep).is_err());
    assert!(yaml(&deep.replace("x =", "x:")).is_err());
}

#[test]
fn the_task_orchestrators_file_is_read_as_it_is() {
    let config = yaml(
        r#"
work_item_schemas:
  feature-task:
    lifecycle: AUTO_REOPEN
    default_traits: [needs-review]
    notes:
      - key: requirements
        role: queue
        required: true
        description: "What is wanted"
        guidance: |
          Say it
          in two lines.
        skill: spec
        maxLength: 200
      - {key: done, role: Review}
  default:
note_schemas:
  old:
    - {key: ignored, role: work}
traits:
  needs-review:
    notes: [{key: review-notes, role: review, required: true}]
    resources:
      - database
      - {key: staging, mode: exclusive, ttlSeconds: 60}
      - {key: docs, mode: advisory}
resources:
  database: {description: "one", maxHolders: 2}
note_limits: {mode: reject}
status_labels: {start: doing, complete: ~, cancel: dropped}
actor_authentication:
  enabled: true
  degraded_mode_policy: accept-self-reported
  verifier: {type: noop}
"#,
    )
    .expect("a good file");
    let schemas = config.schemas.as_ref().expect("schemas");
    assert_eq!(schemas.types.keys().collect::<Vec<_>>(), ["default", "feature-task"]);
    let task = &schemas.types["feature-task"];
    assert_eq!(task.lifecycle, Some(Lifecycle::AutoReopen));
    assert_eq!(task.notes[0].guidance.as_deref(), Some("Say it\nin two lines.\n"));
    assert_eq!((task.notes[0].required, task.notes[0].max_length), (true, Some(200)));
    assert_eq!((task.notes[1].phase, task.notes[1].required), (Role::Review, false), "required is false by default");
    let needs: Vec<String> = schemas.traits["needs-review"].needs.iter().map(ToString::to_string).collect();
    assert_eq!(needs, ["database", "staging"], "advisory resources keep nobody away");
    assert_eq!(schemas.note_limits, NoteLimits::Reject);
    let workflow = config.workflow(Some(&Workflow::task_orchestrator()), "standard").expect("valid").expect("labels");
    let labels: Vec<(Trigger, String)> = workflow.labels.iter().map(|(key, label)| (*key, label.to_string())).collect();
    assert_eq!(labels, [(Trigger::Start, "doing".to_owned()), (Trigger::Cancel, "cancelled".to_owned())]);
    assert_eq!(config.identity.policy, Some(DegradedMode::AcceptSelfReported));
    assert_eq!(config.identity.require_actor, Some(true));
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    assert!(config.warnings[0].contains("maxHolders"), "{:?}", config.warnings);
}

#[test]
fn legacy_note_schemas_count_where_there_are_no_others() {
    let config = yaml("note_schemas:\n  bug:\n    - {key: cause, role: work, required: true}\n").expect("a good file");
    assert_eq!(config.schemas.expect("schemas").types["bug"].notes.len(), 1);
    for empty in ["", "# nothing\n", "---\n"] {
        assert_eq!(yaml(empty).expect("an empty file"), Configuration::default());
    }
}

#[test]
fn a_mistake_in_the_task_orchestrators_file_is_told_with_its_place() {
    for (text, parts) in [
        ("work_item_schemas:\n  a: [", vec!["config.yaml:"]),
        ("a: b: c", vec!["config.yaml:1:"]),
        ("work_item_schemas: 3", vec!["config.yaml:1:20", "must be a table"]),
        ("work_item_schemas:\n  a:\n    notes:\n      - key: x\n", vec!["config.yaml:4", "needs a role"]),
        ("work_item_schemas:\n  a:\n    notes:\n      - {key: x, role: wrk}\n", vec!["config.yaml:4:24", "\"work\""]),
        ("work_item_schemas:\n  a: {lifecycle: sometimes}\n", vec!["config.yaml:2:18", "auto-reopen"]),
        ("work_item_schema:\n  a: {}\n", vec!["config.yaml:1:1", "did you mean \"work_item_schemas\""]),
        ("traits:\n  t: {notes: [{key: x, role: work, requird: true}]}", vec!["config.yaml:2", "\"required\""]),
        ("actor_authentication: {degraded_mode_policy: rejct}", vec!["config.yaml:1", "\"reject\""]),
        ("actor_authentication:\n  verifier:\n    type: jwks\n", vec!["config.yaml:3:5", "keys are needed"]),
        ("actor_authentication: {enabled: maybe}", vec!["config.yaml:1", "true or false"]),
        ("note_limits: {mode: warn}\nnote_limits: {mode: warn}", vec!["config.yaml:2:1"]),
        ("- a\n- b\n", vec!["must be a table, not a list"]),
    ] {
        let told = error(yaml(text));
        for part in parts {
            assert!(told.contains(part), "{text:?}: {part:?} is not in {told:?}");
        }
    }
    let config = yaml("dispatcher_of_theirs: 1\n").expect("a key of a later version");
    assert!(config.warnings[0].contains("config.yaml:1:1"), "{:?}", config.warnings);
}

#[test]
fn a_yaml_bomb_is_refused() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (name, before) in ["b", "c", "d", "e", "f", "g", "h"].iter().zip(["a", "b", "c", "d", "e", "f", "g"]) {
        bomb = format!("{bomb}{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(","));
    }
    let told = error(yaml(&bomb));
    assert!(told.contains("config.yaml"), "{told}");
}

#[test]
fn ours_counts_over_theirs_and_the_environment_over_both() {
    let folder = tempfile::tempdir().expect("a folder");
    write(
        &folder.path().join(".taskorchestrator/config.yaml"),
        "work_item_schemas: {a: {lifecycle: manual}, b: {lifecycle: manual}}\nstatus_labels: {start: theirs}\n\
         actor_authentication: {enabled: true, degraded_mode_policy: reject}\n",
    );
    write(
        &folder.path().join("docket.toml"),
        "[schemas.a]\nlifecycle = 'permanent'\n[workflow.labels]\ncomplete = 'ours'\n[identity]\nrequire_actor = false\n",
    );
    let mut place = around(&folder.path().join("sub"));
    std::fs::create_dir(&place.cwd).expect("a folder");
    let config = Configuration::load(&place, None).expect("both files");
    let types = &config.schemas.as_ref().expect("schemas").types;
    assert_eq!((types["a"].lifecycle, types["b"].lifecycle), (Some(Lifecycle::Permanent), Some(Lifecycle::Manual)));
    let workflow = config.workflow(None, "standard").expect("valid").expect("labels");
    let labels: Vec<String> = workflow.labels.values().map(ToString::to_string).collect();
    assert_eq!(labels, ["theirs", "ours", "cancelled"]);
    assert_eq!((config.identity.policy, config.identity.require_actor), (Some(DegradedMode::Reject), Some(false)));
    place.degraded_mode_policy = Some("Accept-Cached".to_owned());
    let config = Configuration::load(&place, None).expect("both files");
    assert_eq!(config.identity.policy, Some(DegradedMode::AcceptCached));
    place.degraded_mode_policy = Some("maybe".to_owned());
    let told = error(Configuration::load(&place, None));
    assert!(told.contains("DEGRADED_MODE_POLICY") && told.contains("accept-cached"), "{told}");
}

#[test]
fn files_that_were_named_must_be_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = around(folder.path());
    let told = error(Configuration::load(&place, Some(Path::new("none.toml"))));
    assert!(told.contains("none.toml") && told.contains("cannot be read"), "{told}");
    let elsewhere = Surroundings { agent_config_dir: Some("nowhere".to_owned()), ..place.clone() };
    assert!(error(Configuration::load(&elsewhere, None)).contains("AGENT_CONFIG_DIR"));
    // A folder without a configuration is how that system runs by default.
    let empty = Surroundings { agent_config_dir: Some(".".to_owned()), ..place };
    assert_eq!(Configuration::load(&empty, None).expect("no files"), Configuration::default());
    std::fs::write(folder.path().join("docket.toml"), [0x5b, 0xff, 0xfe]).expect("a file");
    assert!(error(Configuration::load(&empty, None)).contains("is not UTF-8"));
}

#[test]
fn a_database_is_named_by_kind_and_path() {
    let place = around(Path::new("/srv/here"));
    for (named, path) in [
        ("sqlite:a.db", "/srv/here/a.db"),
        ("SQLite:/x/a.db", "/x/a.db"),
        ("sqlite:///x/a.db", "/x/a.db"),
        ("a.db", "/srv/here/a.db"),
        ("./a:b.db", "/srv/here/./a:b.db"),
        ("sqlite:odd:name.db", "/srv/here/odd:name.db"),
    ] {
        let found = place.database(Some(named)).expect(named);
        assert_eq!((found.place, found.origin), (Place::File(PathBuf::from(path)), Origin::Named), "{named}");
    }
    for named in ["postgres://host/db", "PostgreSQL://host/db?sslmode=require"] {
        let found = place.database(Some(named)).expect(named);
        assert_eq!((found.place, found.origin), (Place::Server(named.to_owned()), Origin::Named));
    }
    for (named, said) in [
        ("mysql:x", "known: sqlite:PATH"),
        ("sqlite:", "no file"),
        ("", "no file"),
        (":memory:", "name a file"),
        ("sqlite::memory:", "name a file"),
        ("a\0b", "NUL"),
    ] {
        let failure = place.database(Some(named)).expect_err(named);
        assert!(failure.to_string().contains(said) && failure.code() == 3, "{named}: {failure}");
    }
}

#[test]
fn a_database_is_found_upwards_and_else_in_the_data_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("a/b/c");
    std::fs::create_dir_all(&deep).expect("folders");
    let mut place = around(&deep);
    place.data_folder = Some(PathBuf::from("/data/docket"));
    let found = place.database(None).expect("a place");
    assert_eq!((found.place, found.origin), (Place::File(PathBuf::from("/data/docket/docket.db")), Origin::DataFolder));
    write(&folder.path().join("a/.docket/docket.db"), "");
    let found = place.database(None).expect("a place");
    assert_eq!((found.place, found.origin), (Place::File(folder.path().join("a/.docket/docket.db")), Origin::Found));
    place.docket_db = Some("sqlite:/elsewhere.db".to_owned());
    assert_eq!(place.database(None).expect("a place").place, Place::File(PathBuf::from("/elsewhere.db")));
}

/// A main checkout with a worktree elsewhere, made by hand as git makes them.
fn worktree(folder: &Path) -> (PathBuf, PathBuf) {
    let (main, tree) = (folder.join("main"), folder.join("elsewhere/tree"));
    write(&main.join(".git/worktrees/tree/commondir"), "../..\n");
    write(&main.join(".git/worktrees/tree/gitdir"), &format!("{}\n", tree.join(".git").display()));
    write(&tree.join(".git"), &format!("gitdir: {}\n", main.join(".git/worktrees/tree").display()));
    std::fs::create_dir_all(tree.join("sub/deep")).expect("folders");
    (main, tree)
}

#[test]
fn a_worktree_finds_what_its_main_checkout_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let (main, tree) = worktree(&std::fs::canonicalize(folder.path()).expect("a path"));
    write(&main.join(".docket/docket.db"), "");
    write(&main.join("sub/docket.toml"), "[log]\nlevel = 'info'\n");
    let place = around(&tree.join("sub/deep"));
    assert_eq!(place.database(None).expect("a place").place, Place::File(main.join(".docket/docket.db")));
    let config = Configuration::load(&place, None).expect("a file");
    assert_eq!(config.files, [main.join("sub/docket.toml")], "the same place in the main checkout");
    write(&tree.join(".docket/docket.db"), "");
    assert_eq!(
        place.database(None).expect("a place").place,
        Place::File(tree.join(".docket/docket.db")),
        "its own comes first"
    );
}

#[test]
fn a_submodule_is_no_worktree_and_a_broken_pointer_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = std::fs::canonicalize(folder.path()).expect("a path");
    write(&root.join("super/.git/modules/sub/HEAD"), "ref: refs/heads/main\n");
    write(&root.join("super/sub/.git"), "gitdir: ../.git/modules/sub\n");
    let upwards = folders(&root.join("super/sub"));
    assert_eq!(upwards[..2], [root.join("super/sub"), root.join("super")]);
    for broken in ["", "gitdir:", "gitdir: /no/where\n", "nonsense", "gitdir: \u{0}"] {
        write(&root.join("broken/.git"), broken);
        let upwards = folders(&root.join("broken"));
        assert_eq!(upwards[..2], [root.join("broken"), root.clone()], "{broken:?}");
    }
}

#[test]
fn the_example_in_the_docs_can_be_read() {
    let page = include_str!("../../../../docs/configuration.md");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let config = toml(example).expect("a good file");
    assert_eq!(config.project.preset, Some("standard"));
    assert!(config.workflow.is_some() && config.schemas.is_some());
    config.check_traits().expect("traits that are described");
}
