//! Certificates for servers of tests, made by openssl.

use std::path::Path;
use std::process::Command;

/// Runs openssl in a folder; the machine that has Postgres has it.
fn openssl(folder: &Path, words: &str) {
    let done = Command::new("openssl").args(words.split(' ')).current_dir(folder).output();
    let done = done.unwrap_or_else(|error| panic!("these tests need openssl: {error}"));
    assert!(done.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Two authorities, `ca` and `other`, of which the first has signed a server's certificate for these names.
pub fn certificates(folder: &Path, names: &str) {
    for authority in ["ca", "other"] {
        openssl(
            folder,
            &format!(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {authority}.key -out {authority}.crt \
                 -days 2 -subj /CN=docket-test-{authority}"
            ),
        );
    }
    openssl(
        folder,
        "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr -subj /CN=docket-test",
    );
    let file = folder.join("names");
    std::fs::write(&file, format!("subjectAltName={names}\n"))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile names",
    );
}

/// A port that nobody has.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("no port: {error}"));
    listener.local_addr().unwrap_or_else(|error| panic!("no address: {error}")).port()
}
