//! Keys by HTTPS: a key server is believed by its certificate alone.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use docket_tests::certificates::{certificates, free_port};
use docket_tests::web::{Web, command_on};
use serde_json::json;

use crate::sign::{Signer, claims, set};

/// A key server with a certificate; it ends with this.
struct KeyServer(Child);

impl Drop for KeyServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves the files of a folder by HTTPS.
fn key_server(folder: &Path, port: u16) -> KeyServer {
    let mut command = Command::new("openssl");
    command.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-cert", "server.crt", "-key", "server.key"]);
    command.args(["-HTTP", "-quiet"]).current_dir(folder);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("openssl");
    let server = KeyServer(child);
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the key server does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

/// How a program ended and what it said; one that goes on is ended.
fn ended(command: &mut Command) -> (Option<i32>, String) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let begun = Instant::now();
    while child.try_wait().expect("a state").is_none() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let out = child.wait_with_output().expect("its words");
    (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
}

/// How a token is answered by a server that believes this authority and fetches keys from this name.
fn answered(place: &Path, authority: &str, host: &str, port: u16, token: &str) -> docket_tests::web::Reply {
    let folder = tempfile::tempdir().expect("a folder");
    let toml = format!(
        "[identity.tokens]\njwks_uri = \"https://{host}:{port}/keys\"\nissuer = \"https://issuer\"\naudience = \"docket\"\n\
         all_projects = true\n"
    );
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    let word = format!("sqlite:{}", folder.path().join("work.db").display());
    let web = Web::serving(&word, folder.path(), |command| {
        command.env("SSL_CERT_FILE", place.join(authority)).env_remove("SSL_CERT_DIR");
    });
    web.send("GET", "/items", &[("authorization", &format!("Bearer {token}"))], None)
}

#[test]
fn a_key_server_is_believed_only_by_its_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    certificates(place, "DNS:localhost");
    let signer = Signer::new("k1");
    // The whole answer: openssl adds nothing to a file.
    let keys = set(&[&signer]);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{keys}", keys.len());
    std::fs::write(place.join("keys"), answer).expect("keys");
    let port = free_port();
    let _server = key_server(place, port);
    let token = signer.sign(&claims(json!({ "docket_profile": "viewer" })));
    answered(place, "ca.crt", "localhost", port, &token).with(200);
    for (authority, host, why) in [
        ("other.crt", "localhost", "nobody who is believed has signed it"),
        ("ca.crt", "127.0.0.1", "it is for another name"),
    ] {
        let refused = answered(place, authority, host, port, &token);
        assert_eq!(refused.error(503)["code"], json!("UNAVAILABLE"), "{why}");
    }
}

/// Who asks for a document by HTTPS believes what stands in it, and that would name a way on which anybody could change the keys.
#[test]
fn a_document_that_came_by_https_names_no_keys_that_would_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    certificates(place, "DNS:localhost");
    let signer = Signer::new("k1");
    let port = free_port();
    let file = |name: &str, body: &str| {
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
        std::fs::write(place.join(name), answer).expect("a file");
    };
    file("keys", &set(&[&signer]));
    let _server = key_server(place, port);
    let token = signer.sign(&claims(json!({ "docket_profile": "viewer" })));
    let folder = tempfile::tempdir().expect("a folder");
    let toml = format!(
        "[identity.tokens]\noidc_discovery = \"https://localhost:{port}/discovery\"\naudience = \"docket\"\nall_projects = true\n"
    );
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    let word = format!("sqlite:{}", folder.path().join("work.db").display());
    let believing = |command: &mut Command| {
        command.env("SSL_CERT_FILE", place.join("ca.crt")).env_remove("SSL_CERT_DIR");
    };
    let document = |scheme: &str| {
        let named = format!("{scheme}://localhost:{port}/keys");
        file("discovery", &json!({ "issuer": "https://issuer", "jwks_uri": named }).to_string());
    };
    document("https");
    let web = Web::serving(&word, folder.path(), believing);
    web.send("GET", "/items", &[("authorization", &format!("Bearer {token}"))], None).with(200);
    for scheme in ["http", "HTTP"] {
        document(scheme);
        let mut command = command_on(&word, folder.path());
        believing(command.args(["serve", "--listen", "127.0.0.1:0"]));
        let (code, said) = ended(&mut command);
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("came by https"), "{said}");
    }
}
