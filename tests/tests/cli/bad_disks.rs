//! Bad days of the disk that are real ones, not told by a library: a log that belongs to another database, a file system that
//! takes no writes any more, and one that is full to the last byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use docket_tests::mcp::Server;
use docket_tests::program::docket;
use docket_tests::web::Web;
use serde_json::{Value, json};

/// Runs the program on a database.
fn run(database: &Path, arguments: &[&str]) -> Output {
    let mut command = docket_tests::web::command(database);
    command.args(arguments).stdin(Stdio::null());
    command.output().expect("it starts")
}

/// The same for one that must go well.
fn ok(database: &Path, arguments: &[&str]) -> String {
    let ran = run(database, arguments);
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// A database of a test's own, with an item.
fn made(folder: &Path, name: &str) -> PathBuf {
    let database = folder.join(name).join("docket.db");
    std::fs::create_dir_all(folder.join(name)).expect("a folder");
    ok(&database, &["init", "--project", name]);
    ok(&database, &["item", "add", &format!("of {name}")]);
    database
}

fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.to_owned().into_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// Leaves the log that a killed process leaves: with these items in it, and not in the database.
fn leave_a_log(database: &Path, titles: &[&str]) {
    let server = Server::start(database);
    for title in titles {
        ok(database, &["item", "add", title]);
    }
    server.kill();
    drop(server);
    assert!(std::fs::metadata(beside(database, "-wal")).is_ok_and(|log| log.len() > 0), "a log was left");
}

/// What the files of a database hold.
fn bytes(database: &Path) -> (Vec<u8>, Vec<u8>) {
    (std::fs::read(database).expect("a file"), std::fs::read(beside(database, "-wal")).expect("a file"))
}

/// Every way in is refused, and both files stay as they were.
fn refused(database: &Path) {
    let before = bytes(database);
    for arguments in [&["item", "list"][..], &["item", "add", "more"], &["doctor"], &["mcp"]] {
        let ran = run(database, arguments);
        let told = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(3), "{arguments:?}: {told}");
        assert!(told.contains("is not its own") && told.contains("-wal"), "{arguments:?}: {told}");
        assert_eq!(bytes(database), before, "{arguments:?} changed something");
    }
}

#[test]
fn a_log_of_another_database_is_refused_and_both_can_be_had_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, theirs) = (made(folder.path(), "ours"), made(folder.path(), "theirs"));
    leave_a_log(&theirs, &["one", "two", "three"]);
    std::fs::copy(beside(&theirs, "-wal"), beside(&ours, "-wal")).expect("copied");
    refused(&ours);
    // Each of the two is whole without the other's log.
    std::fs::remove_file(beside(&ours, "-wal")).expect("removed");
    assert!(ok(&ours, &["item", "list"]).contains("of ours"));
    let listed = ok(&theirs, &["item", "list"]);
    assert!(["of theirs", "one", "two", "three"].iter().all(|title| listed.contains(title)), "{listed}");
    for database in [&ours, &theirs] {
        ok(database, &["doctor"]);
    }
}

#[test]
fn a_log_that_was_left_by_a_later_state_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = made(folder.path(), "ours");
    let copy = folder.path().join("copy.db");
    std::fs::copy(&database, &copy).expect("copied");
    // Gone on with since, and put into the database; then more, which was left in the log.
    for number in 0..30 {
        ok(&database, &["item", "add", &format!("later {number}")]);
    }
    leave_a_log(&database, &["last"]);
    // An operator puts the copy back and forgets what lies beside it.
    std::fs::copy(&copy, &database).expect("copied");
    refused(&database);
}

#[test]
fn a_log_that_was_left_by_an_earlier_state_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = made(folder.path(), "ours");
    leave_a_log(&database, &["in the log"]);
    let log = std::fs::read(beside(&database, "-wal")).expect("a file");
    for number in 0..30 {
        ok(&database, &["item", "add", &format!("later {number}")]);
    }
    assert!(!beside(&database, "-wal").exists(), "everything is in the database");
    std::fs::write(beside(&database, "-wal"), log).expect("written");
    refused(&database);
}

#[test]
fn a_log_of_its_own_is_taken_however_often_it_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = made(folder.path(), "ours");
    for round in 0..4 {
        leave_a_log(&database, &[&format!("round {round}"), "and more"]);
        assert!(ok(&database, &["item", "list"]).contains(&format!("round {round}")));
    }
    ok(&database, &["doctor"]);
    docket_tests::audit::check(&database);
}

/// The newest version of each page in a log, in the order of pages: so they are copied into the database.
fn pages_of(log: &[u8]) -> BTreeMap<u32, Vec<u8>> {
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().expect("four bytes"));
    let size = number(8) as usize;
    let mut pages = BTreeMap::new();
    let mut at = 32;
    while at + 24 + size <= log.len() && log[at + 8..at + 16] == log[16..24] {
        pages.insert(number(at), log[at + 24..at + 24 + size].to_vec());
        at += 24 + size;
    }
    pages
}

#[test]
fn a_log_of_its_own_is_taken_wherever_the_machine_stopped_while_it_was_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = made(folder.path(), "ours");
    // Enough for pages to be split, so that a half of them makes no sense.
    let titles: Vec<String> = (0..40).map(|number| format!("{number} {}", "word ".repeat(40))).collect();
    for title in &titles {
        ok(&database, &["item", "add", title]);
    }
    leave_a_log(&database, &titles.iter().map(String::as_str).collect::<Vec<_>>());
    let (before, log) = bytes(&database);
    let pages = pages_of(&log);
    assert!(pages.len() > 20, "{} pages are few", pages.len());
    let mut half = before;
    for (page, written) in &pages {
        let at = (*page as usize - 1) * written.len();
        half.resize(half.len().max(at + written.len()), 0);
        half[at..at + written.len()].copy_from_slice(written);
        let copy = folder.path().join(format!("after-{page}.db"));
        std::fs::write(&copy, &half).expect("written");
        std::fs::write(beside(&copy, "-wal"), &log).expect("written");
        let listed = ok(&copy, &["item", "list", "--limit", "200"]);
        assert_eq!(listed.lines().count(), 2 * titles.len() + 2, "after page {page}: {listed}");
    }
    ok(&folder.path().join(format!("after-{}.db", pages.keys().last().expect("a page"))), &["doctor"]);
}

/// Whether this test may mount what it likes.
fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id runs");
    String::from_utf8_lossy(&id.stdout).trim() == "0" && Path::new("/dev/loop-control").exists()
}

/// A script in a mount namespace of its own, as root in it; `$1` is a folder, `$2` the program.
fn apart(script: &str, folder: &Path) -> Output {
    let mut command = Command::new("unshare");
    if is_root() {
        command.arg("--mount");
    } else {
        command.args(["--user", "--map-root-user", "--mount"]);
    }
    command.args(["bash", "-euc", script, "script"]).arg(folder).arg(docket()).stdin(Stdio::null());
    command.env_remove("DOCKET_DB").env_remove("DOCKET_ACTOR").env("HOME", folder).current_dir(folder);
    command.output().expect("unshare runs")
}

/// The value of a line `name=value` in what a script said.
fn said<'o>(output: &'o str, name: &str) -> &'o str {
    let line = output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("no {name} in {output}"))
}

/// Writes and reads by every way in, and tells what came of each.
const TRIED: &str = r#"
    code() { set +e; "$@" >"$work/out" 2>"$work/err"; echo "$?"; set -e; }
    echo "cli_write=$(code "$docket" --db "sqlite:$db" item add more)"
    echo "cli_write_told=$(tr '\n' ' ' <"$work/err")"
    echo "cli_read=$(code "$docket" --db "sqlite:$db" item list)"
    hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    ready='{"jsonrpc":"2.0","method":"notifications/initialized"}'
    call='{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create","arguments":{"title":"more"}}}'
    echo "mcp=$( (printf '%s\n' "$hello" "$ready" "$call"; sleep 3) | "$docket" --db "sqlite:$db" mcp --surface cairn 2>/dev/null | grep '"id":2' | tr '\n' ' ')"
"#;

#[test]
fn a_folder_that_takes_no_writes_is_read_and_says_so_by_every_way_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = made(folder.path(), "ours");
    let script = format!(
        "work=$1/work; mkdir -p \"$work\"; docket=$2; db=$1/ours/docket.db
         mount --bind \"$1/ours\" \"$1/ours\"; mount -o remount,bind,ro \"$1/ours\"
         {TRIED}"
    );
    let ran = apart(&script, folder.path());
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!((said(&told, "cli_write"), said(&told, "cli_read")), ("6", "0"), "{told}");
    assert!(said(&told, "cli_write_told").contains("read-only"), "{told}");
    assert!(said(&told, "mcp").contains("store_read_only"), "{told}");
    assert!(ok(&database, &["item", "list"]).contains("of ours"));
}

/// What was answered to a request, as `status reason`.
const ASKED: &str = r#"
    asked() { curl -s -m 10 -o "$work/body" -w '%{http_code}' "$@"; echo " $(grep -o '"reason":"[a-z_]*"' "$work/body" | head -1)"; }
    write() { asked -X POST -H 'content-type: application/json' -d "{\"title\":\"$1\"}" "http://$at/api/v1/items"; }
"#;

/// A file system that finds itself broken refuses every write from that moment, also by those who have files open: so a real one
/// is made to. Only root may mount such; others see the test above.
#[test]
fn a_file_system_that_becomes_read_only_while_it_is_served_loses_nothing() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!(
        r#"work=$1/work; mkdir -p "$work" "$1/disk"; docket=$2; db=$1/disk/docket.db
        truncate -s 200M "$1/image"; mkfs.ext4 -q -F "$1/image"; mount -o loop,errors=remount-ro "$1/image" "$1/disk"
        "$docket" --db "sqlite:$db" init --project ours >/dev/null
        "$docket" --db "sqlite:$db" --json serve --listen 127.0.0.1:0 >"$work/serve" 2>/dev/null &
        serve=$!; trap 'kill $serve; wait $serve || true; umount "$1/disk"' EXIT
        for i in $(seq 100); do test -s "$work/serve" && break; sleep 0.1; done
        at=$(grep -o '127.0.0.1:[0-9]*' "$work/serve" | head -1)
        {ASKED}
        echo "before=$(write before)"; echo "ready_before=$(asked "http://$at/readyz")"
        mount -o remount,abort "$1/disk"
        for i in 1 2 3; do echo "write$i=$(write lost)"; done
        echo "read=$(asked "http://$at/api/v1/items")"; echo "titles=$(grep -o '"title":"[a-z]*"' "$work/body" | tr '\n' ' ')"
        for i in $(seq 10); do ready=$(asked "http://$at/readyz"); case $ready in 503*) break;; esac; sleep 0.1; done
        echo "ready=$ready"; echo "alive=$(asked "http://$at/healthz")"
        {TRIED}"#
    );
    let ran = apart(&script, folder.path());
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said(&told, "before").starts_with("201") && said(&told, "ready_before").starts_with("200"), "{told}");
    for write in ["write1", "write2", "write3"] {
        assert_eq!(said(&told, write), "503 \"reason\":\"store_read_only\"", "{told}");
    }
    assert!(said(&told, "read").starts_with("200"), "{told}");
    assert!(said(&told, "titles").contains("before") && !said(&told, "titles").contains("lost"), "{told}");
    assert!(said(&told, "ready").starts_with("503") && said(&told, "alive").starts_with("200"), "{told}");
    assert_eq!((said(&told, "cli_write"), said(&told, "cli_read")), ("6", "0"), "{told}");
    assert!(said(&told, "mcp").contains("store_read_only"), "{told}");
}

/// An export with so many long notes: each is written twice, once as a row and once as an event.
fn long_export(folder: &Path, notes: usize) -> PathBuf {
    let source = made(folder, "source");
    ok(&source, &["note", "set", "SOUR-1", "plan", "short"]);
    let mut text = String::new();
    for line in ok(&source, &["export"]).lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let Some(note) = row.get("note") else {
            let _ = writeln!(text, "{line}");
            continue;
        };
        for number in 0..notes {
            let mut note = note.clone();
            let id = note["id"].as_str().expect("an id").to_owned();
            note["id"] = json!(format!("{}{number:04x}", &id[..id.len() - 4]));
            note["key"] = json!(format!("k{number}"));
            note["body"] = json!("x".repeat(250_000));
            let _ = writeln!(text, "{}", json!({ "note": note }));
        }
    }
    let file = folder.join(format!("{notes}.jsonl"));
    std::fs::write(&file, text).expect("a file");
    file
}

/// A database on a disk of 90 MiB, which is then filled by one import; `$3` is a script for afterwards.
fn on_a_full_disk(notes: usize, after: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = long_export(folder.path(), notes);
    let script = format!(
        r#"work=$1/work; mkdir -p "$work" "$1/disk"; docket=$2; db=sqlite:$1/disk/docket.db; disk=$1/disk
        mount -t tmpfs -o size=90m tmpfs "$disk"
        code() {{ set +e; "$@" >"$work/out" 2>"$work/err"; echo "$?"; set -e; }}
        "$docket" --db "$db" init --project ours >/dev/null; "$docket" --db "$db" item add before >/dev/null
        echo "import=$(code "$docket" --db "$db" import "{}")"; echo "import_told=$(tr '\n' ' ' <"$work/err")"
        echo "free=$(df --output=avail "$disk" | tail -1 | tr -d ' ')"
        {after}
        echo "doctor=$(code "$docket" --db "$db" doctor)""#,
        file.display()
    );
    let ran = apart(&script, folder.path());
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(said(&told, "doctor"), "0", "{told}");
    told
}

#[test]
fn a_disk_that_is_full_in_the_log_acknowledges_nothing_of_the_write() {
    let after = r#"
        echo "read=$(code "$docket" --db "$db" --project ours item list)"; echo "titles=$(tr '\n' ' ' <"$work/out")"
        echo "projects=$("$docket" --db "$db" project list | grep -c source || true)"
        echo "write=$(code "$docket" --db "$db" --project ours item add after)""#;
    let told = on_a_full_disk(240, after);
    assert_eq!(said(&told, "import"), "6", "{told}");
    assert!(said(&told, "import_told").contains("the disk is full"), "{told}");
    assert_eq!((said(&told, "read"), said(&told, "projects"), said(&told, "write")), ("0", "0", "0"), "{told}");
    assert!(said(&told, "titles").contains("before"), "{told}");
}

#[test]
fn a_disk_that_is_full_when_the_log_is_copied_keeps_what_was_acknowledged() {
    let after = r#"
        echo "notes=$("$docket" --db "$db" --project source note list SOUR-1 --json | grep -oE '"key": ?"k[0-9]+"' | wc -l)"
        echo "write=$(code "$docket" --db "$db" --project ours item add after)"; echo "write_told=$(tr '\n' ' ' <"$work/err")"
        mount -o remount,size=300m "$disk"
        echo "again=$(code "$docket" --db "$db" --project ours item add after)"
        echo "notes_again=$("$docket" --db "$db" --project source note list SOUR-1 --json | grep -oE '"key": ?"k[0-9]+"' | wc -l)""#;
    let told = on_a_full_disk(140, after);
    assert_eq!((said(&told, "import"), said(&told, "free")), ("0", "0"), "the log fits, and not its copy: {told}");
    assert_eq!((said(&told, "notes"), said(&told, "notes_again")), ("140", "140"), "{told}");
    assert_eq!((said(&told, "write"), said(&told, "again")), ("6", "0"), "{told}");
    assert!(said(&told, "write_told").contains("the disk is full"), "{told}");
}

#[test]
fn nothing_needs_room_for_temporary_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = made(folder.path(), "ours");
    for number in 0..50 {
        ok(&database, &["item", "add", &format!("number {number}")]);
    }
    let script = r#"docket=$2; db=sqlite:$1/ours/docket.db; mkdir -p "$1/tmp"
        mount -t tmpfs -o size=4k tmpfs "$1/tmp"; cat /dev/zero >"$1/tmp/ballast" 2>/dev/null || true
        export TMPDIR=$1/tmp SQLITE_TMPDIR=$1/tmp
        "$docket" --db "$db" item list >/dev/null; "$docket" --db "$db" search number >/dev/null
        "$docket" --db "$db" doctor >/dev/null; "$docket" --db "$db" backup "$1/copy.db" >/dev/null; "$docket" --db "$db" item add more >/dev/null
        "$docket" --db "$db" export >/dev/null; echo "done=yes""#;
    let ran = apart(script, folder.path());
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && told.contains("done=yes"), "{told}{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_server_on_a_full_disk_is_not_ready_and_recovers() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("docket.db");
    ok(&database, &["init", "--project", "ours"]);
    let web = Web::on(&database, |command| {
        let mut wrapped = Command::new("unshare");
        let mount = "cp -a \"$0/docket.db\" \"/dev/shm/docket-test-$$.db\" && mount -t tmpfs -o size=80m tmpfs \"$0\" && \
                     mv \"/dev/shm/docket-test-$$.db\" \"$0/docket.db\" && exec \"$@\"";
        wrapped.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]).arg(folder.path());
        wrapped.arg(command.get_program()).args(command.get_args()).current_dir("/");
        *command = wrapped;
    });
    web.item("before");
    web.readyz_says(200);
    let inside = PathBuf::from(format!("/proc/{}/root", web.pid()));
    let ballast = inside.join(folder.path().strip_prefix("/").expect("a whole path")).join("ballast");
    std::fs::write(&ballast, vec![0; 20_000_000]).expect("room for it");
    assert_eq!(web.post("/items", &json!({ "title": "too much" })).reason(507), "store_full");
    web.readyz_says(503);
    assert_eq!(web.get("/items").with(200)["total"], 1, "what is there can be read");
    std::fs::remove_file(&ballast).expect("it was there");
    web.readyz_says(200);
    web.item("after");
}
