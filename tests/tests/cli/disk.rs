//! Bad days of the disk beneath a database file: it fills up, and it fails to keep what was written.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use docket_tests::mcp::Server;
use docket_tests::web::{Reply, Web};
use serde_json::{Value, json};

fn make(server: &Server, title: &str) -> Result<Value, Value> {
    let arguments = json!({ "operation": "create", "items": [{ "title": title }] });
    let answer = server.call("manage_items", arguments).unwrap_or_else(|_| panic!("the server is gone"));
    if answer.is_error { Err(answer.content) } else { Ok(answer.content) }
}

fn count(server: &Server) -> Value {
    server.ok("query_items", json!({ "operation": "search" }))["total"].clone()
}

/// A program on a small disk of its own, which nobody else sees.
fn on_small_disk(command: &mut Command, folder: &Path) {
    let mut wrapped = Command::new("unshare");
    let mount = "mount -t tmpfs -o size=80m tmpfs \"$0\" && exec \"$@\"";
    wrapped.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]).arg(folder);
    wrapped.arg(command.get_program()).args(command.get_args());
    wrapped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    *command = wrapped;
}

#[test]
fn a_disk_that_is_nearly_full_takes_no_writes_until_there_is_room_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("docket.db");
    let server = Server::start_with(&database, &[], |command| on_small_disk(command, folder.path()));
    make(&server, "before").expect("there is room");
    // The disk as the server sees it.
    let inside = PathBuf::from(format!("/proc/{}/root", server.pid()));
    let ballast = inside.join(folder.path().strip_prefix("/").expect("a whole path")).join("ballast");
    std::fs::write(&ballast, vec![0; 20_000_000]).expect("room for it");
    let refused = make(&server, "too much").expect_err("what is left is kept in reserve");
    assert!(refused.to_string().contains("disk"), "{refused}");
    assert_eq!(count(&server), json!(1), "what is there can be read");
    std::fs::remove_file(&ballast).expect("it was there");
    make(&server, "after").expect("there is room again");
    assert_eq!(count(&server), json!(2));
}

/// A library that has no room for anything while a file is there, whatever the disk says of itself.
fn no_room(folder: &Path) -> PathBuf {
    let source = "#define _GNU_SOURCE\n#include <errno.h>\n#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
        #include <sys/stat.h>\n#include <sys/syscall.h>\n\
        static int full(int fd) { const char *sign = getenv(\"DISK_FULL\"); struct stat it;\n\
        return sign && access(sign, F_OK) == 0 && fstat(fd, &it) == 0 && S_ISREG(it.st_mode); }\n\
        ssize_t pwrite64(int fd, const void *b, size_t n, off64_t at) { if (full(fd)) { errno = ENOSPC; return -1; }\n\
        return syscall(SYS_pwrite64, fd, b, n, at); }\n\
        ssize_t pwrite(int fd, const void *b, size_t n, off_t at) { return pwrite64(fd, b, n, at); }\n\
        ssize_t write(int fd, const void *b, size_t n) { if (full(fd)) { errno = ENOSPC; return -1; }\n\
        return syscall(SYS_write, fd, b, n); }\n";
    library(folder, source)
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_write_acknowledges_nothing_and_needs_no_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, sign) = (folder.path().join("docket.db"), folder.path().join("sign"));
    let library = no_room(folder.path());
    let server = Server::start_with(&database, &[], |command| {
        command.env("LD_PRELOAD", &library).env("DISK_FULL", &sign);
    });
    make(&server, "before").expect("there is room");
    std::fs::write(&sign, "").expect("a file");
    for _ in 0..3 {
        let refused = make(&server, "too much").expect_err("there is no room");
        assert_eq!(refused["error"]["reason"], json!("store_full"), "{refused}");
        assert_eq!(count(&server), json!(1), "what is there can be read");
    }
    std::fs::remove_file(&sign).expect("it was there");
    make(&server, "after").expect("there is room again");
    assert_eq!(count(&server), json!(2), "what was not acknowledged is not there");
    drop(server);
    docket_tests::audit::check(&database);
}

/// A library that has flushes fail while a file is there.
fn failing_flushes(folder: &Path) -> PathBuf {
    let source = "#include <errno.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n\
        static int bad(void) { const char *sign = getenv(\"FLUSHES_FAIL\"); return sign && access(sign, F_OK) == 0; }\n\
        int fsync(int fd) { if (bad()) { errno = EIO; return -1; } return syscall(SYS_fsync, fd); }\n\
        int fdatasync(int fd) { if (bad()) { errno = EIO; return -1; } return syscall(SYS_fdatasync, fd); }\n";
    library(folder, source)
}

/// A library in which every lock takes its time while a file is there.
fn slow_locks(folder: &Path) -> PathBuf {
    let source = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdarg.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
        #include <sys/syscall.h>\n\
        static int locked(int fd, int how, long what) { const char *sign = getenv(\"LOCKS_ARE_SLOW\");\n\
        if (how == F_SETLK && sign && access(sign, F_OK) == 0) usleep(600000);\n\
        return syscall(SYS_fcntl, fd, how, what); }\n\
        int fcntl(int fd, int how, ...) { va_list more; va_start(more, how); long what = va_arg(more, long); va_end(more);\n\
        return locked(fd, how, what); }\n\
        int fcntl64(int fd, int how, ...) { va_list more; va_start(more, how); long what = va_arg(more, long); va_end(more);\n\
        return locked(fd, how, what); }\n";
    library(folder, source)
}

/// Of many who come to a server at once, those are told to come again for whom the store has no time, whether at the door or by the
/// tool. (Over pipes there is one caller, whose calls are made one after the other.)
#[test]
fn who_asks_for_more_than_can_be_done_is_told_when_to_come_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, sign) = (folder.path().join("docket.db"), folder.path().join("sign"));
    let library = slow_locks(folder.path());
    let web = Web::on(&database, |command| {
        command.env("LD_PRELOAD", &library).env("LOCKS_ARE_SLOW", &sign);
    });
    web.item("one");
    let params = json!({ "name": "query_items", "arguments": { "operation": "search" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let accept = [("accept", "application/json, text/event-stream")];
    let search = || web.to("POST", "/mcp/task-orchestrator", &accept, Some(call.as_bytes()));
    std::fs::write(&sign, "").expect("a file");
    let answers: Vec<Reply> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..40).map(|_| scope.spawn(search)).collect();
        asked.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    std::fs::remove_file(&sign).expect("it was there");
    let (mut shed, mut served) = (0, 0);
    for answer in answers {
        if answer.status == 200 && answer.json()["result"]["isError"] == json!(false) {
            served += 1;
            continue;
        }
        shed += 1;
        let error = if answer.status == 200 {
            answer.json()["result"]["structuredContent"]["error"].clone()
        } else {
            assert_eq!(answer.header("retry-after"), "1");
            answer.error(503)
        };
        assert_eq!((&error["kind"], &error["retryAfterMs"]), (&json!("shedding"), &json!(250)), "{error}");
    }
    assert!(shed > 0 && served > 0, "{shed} shed, {served} served");
    let later = search().with(200);
    assert_eq!(later["result"]["structuredContent"]["total"], json!(1), "later there is room again: {later}");
}

/// A library to be loaded before all others.
fn library(folder: &Path, source: &str) -> PathBuf {
    let (code, library) = (folder.join("before.c"), folder.join("before.so"));
    std::fs::write(&code, source).expect("a file");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&code).status().expect("cc runs");
    assert!(built.success());
    library
}

#[test]
fn a_flush_that_fails_is_not_acknowledged_and_ends_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, sign) = (folder.path().join("docket.db"), folder.path().join("sign"));
    let library = failing_flushes(folder.path());
    let server = Server::start_with(&database, &[], |command| {
        command.env("LD_PRELOAD", &library).env("FLUSHES_FAIL", &sign);
    });
    make(&server, "kept").expect("the disk is well");
    std::fs::write(&sign, "").expect("a file");
    let answer = server.call("manage_items", json!({ "operation": "create", "items": [{ "title": "lost" }] }));
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.is_error), "nothing was promised");
    // Nothing is promised any more, also when flushes would succeed again: what was lost would not come back by that.
    std::fs::remove_file(&sign).expect("it was there");
    let again = server.call("manage_items", json!({ "operation": "create", "items": [{ "title": "more" }] }));
    assert!(again.is_err() || again.is_ok_and(|answer| answer.is_error), "it writes nothing more");
    let begun = Instant::now();
    while !server.ended() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let server = Server::start(&database);
    make(&server, "anew").expect("a new process");
    let there = server.ok("query_items", json!({ "operation": "search" })).to_string();
    // What was not acknowledged may be there or not; what came after it was not even tried.
    assert!(there.contains("kept") && there.contains("anew") && !there.contains("more"), "{there}");
}
