//! Encrypted connections: who is believed, who is not, and what an operator is told.

use std::path::Path;
use std::process::Output;

use docket_tests::certificates::{certificates, free_port};
use docket_tests::own_postgres::{OwnServer, keep_for_server, run_on};
use docket_tests::web::command_on;

/// A server that takes encrypted connections over TCP, and no others there.
fn server(certificates: &Path, port: u16) -> OwnServer {
    let settings = format!("-c listen_addresses=127.0.0.1 -c port={port}");
    OwnServer::start_with(&settings, |folder| {
        for file in ["server.key", "server.crt"] {
            let copy = folder.join("data").join(file);
            std::fs::copy(certificates.join(file), &copy).expect("a copy");
            keep_for_server(&copy);
        }
        // In a file, where it can be changed later.
        std::fs::write(folder.join("data/postgresql.auto.conf"), "ssl = on\n").expect("a file");
        std::fs::write(folder.join("data/pg_hba.conf"), "local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
            .expect("a file");
    })
}

fn run(folder: &Path, url: &str) -> Output {
    command_on(url, folder).args(["--json", "project", "list"]).output().expect("it runs")
}

fn refused(folder: &Path, url: &str, word: &str) {
    let out = run(folder, url);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(3), "{url}: {said}");
    assert!(said.contains(word), "{url}: \"{word}\" is not in: {said}");
}

#[test]
fn a_server_is_believed_only_by_its_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    certificates(path, "DNS:localhost,DNS:db.example");
    let port = free_port();
    let server = server(path, port);
    let local = format!("{}&port={port}", server.url("postgres"));
    run_on(&local, "CREATE DATABASE work TEMPLATE template0 ENCODING 'UTF8'");
    let at = |host: &str, words: &str| format!("postgres://docket@{host}:{port}/work?{words}");
    let (ca, other) = (path.join("ca.crt"), path.join("other.crt"));
    let made =
        command_on(&at("localhost", "sslmode=require"), path).args(["--json", "init"]).output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for words in [
        "sslmode=require".to_owned(),
        format!("sslmode=verify-ca&sslrootcert={}", ca.display()),
        format!("sslmode=verify-full&sslrootcert={}", ca.display()),
    ] {
        let out = run(path, &at("localhost", &words));
        assert!(out.status.success(), "{words}: {}", String::from_utf8_lossy(&out.stderr));
    }
    // Another authority, another name, no certificate to believe in, nothing encrypted at all.
    refused(path, &at("localhost", &format!("sslmode=verify-full&sslrootcert={}", other.display())), "sslrootcert");
    refused(path, &at("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={}", ca.display())), "sslmode");
    refused(path, &at("localhost", "sslmode=verify-full"), "sslrootcert");
    refused(path, &at("localhost", "sslmode=verify-full&sslrootcert=/nowhere.crt"), "sslrootcert");
    refused(path, &at("localhost", "sslmode=disable"), "pg_hba.conf");
    refused(path, &at("localhost", "sslmode=sometimes"), "address");
    // A server without encryption does not make us do without.
    run_on(&local, "ALTER SYSTEM SET ssl = off");
    run_on(&local, "SELECT pg_reload_conf()");
    std::thread::sleep(std::time::Duration::from_millis(300));
    refused(path, &at("localhost", "sslmode=require"), "sslmode");
}
