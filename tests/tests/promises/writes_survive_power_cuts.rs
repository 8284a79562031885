//! P4: an acknowledged write survives a power cut (SQLite, `durability = "full"`).
//!
//! A power cut takes every byte that no completed flush covers. A library that is loaded before all others keeps, at each flush
//! of a file, what the file held when the flush began. From that we make the disk as a cut at that moment would leave it, open it,
//! and ask for three things: every write that was acknowledged by then is there, the rows obey every rule and are what
//! their events say, and the file is whole. The script goes on beyond a checkpoint, so that cuts between a flush of the log
//! and one of the database are among them.
//!
//! Planted bug it catches: commits that are not flushed (`durability = "normal"`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use docket_tests::mcp::Server;
use serde_json::json;

use crate::fleet::must_fail_with;

/// Writes of the script.
const WRITES: usize = 70;
/// How long the text of each is: all of them are more than what is copied from the log to the database at a time.
const BYTES: usize = 100_000;
/// Cuts that are tried in any case: one of so many.
const TRIED: usize = 8;

/// Keeps what each file held when a flush of it began, once that flush has succeeded, as `NUMBER-NAME`.
const KEEPER: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static long flushes = 0;
static int kept(int fd, int call) {
    const char *place = getenv("FLUSHED");
    struct stat it;
    char link[64], path[4096], half[4200], whole[4200];
    static char block[1 << 16];
    if (!place || fstat(fd, &it) != 0 || !S_ISREG(it.st_mode)) return syscall(call, fd);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return syscall(call, fd);
    path[length] = 0;
    pthread_mutex_lock(&turn);
    snprintf(half, sizeof half, "%s/half", place);
    int copy = open(half, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ssize_t got;
    for (off_t at = 0; (got = pread(fd, block, sizeof block, at)) > 0; at += got)
        if (write(copy, block, got) != got) abort();
    close(copy);
    int result = syscall(call, fd);
    if (result == 0) {
        snprintf(whole, sizeof whole, "%s/%06ld-%s", place, ++flushes, strrchr(path, '/') + 1);
        if (rename(half, whole) != 0) abort();
    }
    pthread_mutex_unlock(&turn);
    return result;
}
int fsync(int fd) { return kept(fd, SYS_fsync); }
int fdatasync(int fd) { return kept(fd, SYS_fdatasync); }
"#;

/// What a script left behind.
struct Trace {
    folder: tempfile::TempDir,
    /// Each write that was acknowledged, with how many flushes were over by then.
    acknowledged: Vec<(String, usize)>,
}

impl Trace {
    fn flushed(&self) -> PathBuf {
        self.folder.path().join("flushed")
    }

    /// Which file each flush was of.
    fn flushes(&self) -> BTreeMap<usize, String> {
        flushes(&self.flushed())
    }
}

fn flushes(folder: &Path) -> BTreeMap<usize, String> {
    let names = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let read = |name: std::ffi::OsString| {
        let (number, file) = name.to_str()?.split_once('-')?;
        // A journal of the first moments is gone, for good, before the log begins.
        Some((number.parse().ok()?, file.to_owned())).filter(|(_, file)| !file.ends_with("-journal"))
    };
    names.filter_map(read).collect()
}

/// Runs the script with each flush kept.
fn record(settings: &str) -> Trace {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, library) = (folder.path().join("keeper.c"), folder.path().join("keeper.so"));
    std::fs::write(&code, KEEPER).expect("a file");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&code).status().expect("cc runs");
    assert!(built.success());
    let flushed = folder.path().join("flushed");
    std::fs::create_dir(&flushed).expect("a folder");
    let place = folder.path().join("place");
    std::fs::create_dir(&place).expect("a folder");
    std::fs::write(place.join("docket.toml"), settings).expect("a file");
    let database = place.join("docket.db");
    let server = Server::start_with(&database, &[], |command| {
        command.env("LD_PRELOAD", &library).env("FLUSHED", &flushed).current_dir(&place);
    });
    let made = server.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "cut" }] }));
    let item = made["items"][0]["id"].clone();
    let mut acknowledged = Vec::new();
    for number in 0..WRITES {
        let key = format!("token-{number}");
        let body = format!("{key} {}", "x".repeat(BYTES));
        let note = json!({ "itemId": item, "key": key, "role": "work", "body": body });
        let answer = server.ok("manage_notes", json!({ "operation": "upsert", "notes": [note] }));
        assert_eq!(answer["upserted"], json!(1));
        acknowledged.push((key, flushes(&flushed).keys().last().copied().unwrap_or(0)));
    }
    server.kill();
    Trace { folder, acknowledged }
}

/// The disk as a power cut leaves it after so many flushes.
fn cut(trace: &Trace, after: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let newest: BTreeMap<String, usize> =
        trace.flushes().range(..=after).map(|(number, file)| (file.clone(), *number)).collect();
    for (file, number) in newest {
        std::fs::copy(trace.flushed().join(format!("{number:06}-{file}")), folder.path().join(file)).expect("a copy");
    }
    folder
}

fn experiment(settings: &str) {
    let trace = record(settings);
    let flushes = trace.flushes();
    let last = trace.acknowledged.last().map_or(0, |(_, flushes)| *flushes);
    let of_database: Vec<usize> =
        flushes.iter().filter(|(_, file)| *file == "docket.db").map(|(number, _)| *number).collect();
    // The first writes that count, every so many, what was acknowledged last, and around each flush of the database.
    let first = trace.acknowledged[0].1;
    let near = |number: usize| of_database.iter().any(|flush| number + 1 >= *flush && number <= flush + 1);
    let tried: Vec<usize> = (first..=last)
        .filter(|number| (number - first).is_multiple_of(TRIED) || *number == last || near(*number))
        .collect();
    for number in &tried {
        let disk = cut(&trace, *number);
        let world = docket_tests::audit::check(&disk.path().join("docket.db"));
        let stored: Vec<&str> = world.notes.values().map(|note| note.key.as_str()).collect();
        let due = trace.acknowledged.iter().filter(|(_, flushes)| flushes <= number).map(|(key, _)| key.as_str());
        let missing: Vec<&str> = due.filter(|key| !stored.contains(key)).collect();
        assert!(
            missing.is_empty(),
            "a power cut after flush {number} loses {} acknowledged writes: {missing:?}",
            missing.len()
        );
    }
    assert!(of_database.iter().any(|flush| *flush > first), "no checkpoint was among them");
    assert!(tried.len() > WRITES / TRIED, "{} cuts", tried.len());
}

#[test]
fn an_acknowledged_write_survives_a_power_cut() {
    experiment("");
}

#[test]
fn commits_that_are_not_flushed_are_caught() {
    // The first commits are lost too, so that there may be no database at all.
    must_fail_with(&["acknowledged writes", "it does not open"], || experiment("[store]\ndurability = \"normal\"\n"));
}
