//! What an older program left, served by this one: rules are brought up once, and what was configured stays as it was configured.

use docket_core::workflow::Workflow;
use serde_json::json;

use crate::desk::Desk;

/// How often the rules of a project were set.
fn rules_set(desk: &Desk) -> usize {
    let events = desk.json(&["events", "--limit", "200"]);
    events["events"].as_array().expect("events").iter().filter(|event| event["verb"] == "project-set").count()
}

/// Makes of a database what a program of the seventh schema left, with this workflow in its one project.
fn leave_as_the_seventh(desk: &Desk, workflow: &Workflow) {
    let mut written = serde_json::to_value(workflow).expect("JSON");
    written.as_object_mut().expect("an object").remove("checksWhen");
    let written = written.to_string().replace('\'', "''");
    let statements = format!(
        "UPDATE rules SET workflow = '{written}'; UPDATE events SET data = json_set(data, '$.workflow', json('{written}')) \
         WHERE json_type(data, '$.workflow') IS NOT NULL; PRAGMA user_version = 7"
    );
    docket_store_sqlite::testing::run(&desk.database(), &statements).expect("as it was left");
}

#[test]
fn what_the_file_says_of_a_preset_is_not_taken_for_a_preset_of_before() {
    for file in [
        "[project]\npreset = 'cairn'\n[workflow]\nchecks_when = 'success'\n",
        "[project]\npreset = 'standard'\n[workflow]\ngates = ['dependencies', 'notes', 'criteria', 'descendants']\n",
    ] {
        let desk = Desk::bare();
        desk.write("docket.toml", file);
        desk.ok(&["init"]);
        for title in ["One", "Two", "Three"] {
            desk.add(&[title]);
        }
        assert_eq!(rules_set(&desk), 1, "it was made: {file}");
        let ran = desk.run(&["item", "list"]);
        assert!(!ran.err.contains("the next write will apply"), "{file}: {ran:?}");
        docket_tests::audit::check(&desk.database());
    }
}

#[test]
fn a_project_of_foresttasks_takes_other_switches_after_an_upgrade() {
    let desk = Desk::bare();
    desk.write("docket.toml", "[project]\npreset = 'foresttasks'\n[workflow]\nmax_depth = 4\n");
    desk.ok(&["init"]);
    let key = desk.add(&["One"]);
    let before = Workflow { statuses: Workflow::standard().statuses, max_depth: 4, ..Workflow::foresttasks() };
    leave_as_the_seventh(&desk, &before);
    desk.add(&["Two"]);
    assert_eq!(rules_set(&desk), 1, "nothing else was asked for");
    // What stands in the status that the preset had once stands somewhere.
    desk.ok(&["advance", &key, "block"]);
    assert_eq!(desk.json(&["item", "list", "--status", "blocked"])["total"], json!(1));
    desk.write("docket.toml", "[project]\npreset = 'foresttasks'\n[workflow]\nmax_depth = 5\n");
    desk.add(&["Three"]);
    assert_eq!(rules_set(&desk), 2);
    desk.ok(&["doctor"]);
    desk.ok(&["export", "out.jsonl"]);
    desk.ok(&["--db", "copy.db", "import", "out.jsonl", "--create"]);
    docket_tests::audit::check(&desk.database());
}
