//! A standby: what it has is read there, and what it cannot know is refused.

use std::path::Path;
use std::process::Output;

use docket_tests::own_postgres::OwnServer;
use docket_tests::web::command_on;

fn run(server: &OwnServer, folder: &Path, arguments: &[&str]) -> Output {
    command_on(&server.url("work"), folder).args(arguments).output().expect("the program")
}

fn ok(server: &OwnServer, folder: &Path, arguments: &[&str]) -> String {
    let ran = run(server, folder, arguments);
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// How far events go on a standby nobody knows who goes on from there: a transaction may be under way on the primary.
#[test]
fn what_was_done_is_told_by_a_standby_and_only_what_follows_is_not() {
    let primary = OwnServer::start();
    primary.run("CREATE DATABASE work TEMPLATE template0 ENCODING 'UTF8'");
    let folder = tempfile::tempdir().expect("a folder");
    ok(&primary, folder.path(), &["init", "--project", "work"]);
    ok(&primary, folder.path(), &["item", "add", "before"]);
    let standby = primary.standby();
    for arguments in [&["item", "list"][..], &["events"], &["events", "WORK-1"], &["events", "--since", "1h", "--json"]]
    {
        assert!(ok(&standby, folder.path(), arguments).contains("before"), "{arguments:?}");
    }
    let page = ok(&standby, folder.path(), &["events", "--limit", "1", "--json"]);
    let page: serde_json::Value = serde_json::from_str(&page).expect("JSON");
    let cursor = page["nextCursor"].as_str().expect("there is more");
    ok(&standby, folder.path(), &["events", "--limit", "1", "--cursor", cursor]);
    let followed = run(&standby, folder.path(), &["events", "--follow"]);
    let told = String::from_utf8_lossy(&followed.stderr).into_owned();
    assert_eq!(followed.status.code(), Some(6), "{told}");
    assert!(told.contains("takes no writes now"), "{told}");
}
