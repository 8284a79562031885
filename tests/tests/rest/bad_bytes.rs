//! Bytes that no decent client sends: slow ones, too many, the wrong name, two lengths. After each the server lives.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use docket_tests::web::{Web, parse};
use serde_json::json;

fn head(web: &Web, more: &str) -> String {
    format!("GET /api/v1/items HTTP/1.1\r\nhost: {}\r\n{more}\r\n", web.address)
}

#[test]
fn only_our_own_names_and_pages_are_answered() {
    let web = Web::start();
    for path in ["/api/v1/items", "/mcp", "/docs", "/healthz", "/metrics", "/api/v1/openapi.json", "/nowhere"] {
        for host in ["evil.example", "localhost.evil.example", "0.0.0.0:7420"] {
            assert_eq!(web.to("GET", path, &[("host", host)], None).reason(403), "wrong_host", "{path} {host}");
        }
        let ours = web.address.to_string();
        for origin in ["http://evil.example", "null", "http://localhost:1"] {
            let headers = [("host", ours.as_str()), ("origin", origin)];
            assert_eq!(web.to("GET", path, &headers, None).reason(403), "wrong_host", "{path} {origin}");
        }
        let same = format!("http://{ours}");
        let two = [("origin", same.as_str()), ("origin", same.as_str())];
        assert_eq!(web.to("GET", path, &two, None).reason(403), "wrong_host", "{path}");
    }
    let same = format!("http://{}", web.address);
    let asked = [("origin", same.as_str()), ("access-control-request-method", "POST")];
    for reply in
        [web.to("OPTIONS", "/api/v1/items", &asked, None), web.to("GET", "/healthz", &[("origin", &same)], None)]
    {
        assert!(!reply.headers.iter().any(|(name, _)| name.starts_with("access-control")), "{reply:?}");
    }
    assert_eq!(parse(&web.raw(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n")).status, 400);
    // Refused before the body: nobody waits for it.
    let begun = Instant::now();
    let bytes =
        b"POST /api/v1/items HTTP/1.1\r\nhost: evil\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n";
    let mut stream = web.connect();
    stream.write_all(bytes).expect("sent");
    let mut first = [0; 12];
    stream.read_exact(&mut first).expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 403");
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn heads_and_bodies_have_a_size() {
    let web = Web::start();
    let many: Vec<String> = (0..1000).map(|number| format!("x-{number}: y\r\n")).collect();
    assert!(matches!(parse(&web.raw(head(&web, &many.concat()).as_bytes())).status, 431));
    let long = format!("x: {}\r\n", "y".repeat(64 * 1024));
    assert_eq!(parse(&web.raw(head(&web, &long).as_bytes())).status, 431);
    let address = format!("GET /api/v1/items?q={} HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(64 * 1024), web.address);
    assert!(matches!(parse(&web.raw(address.as_bytes())).status, 414 | 431));
    let address = format!("/items?q={}", "x".repeat(9000));
    assert_eq!(web.get(&address).reason(414), "too_long");
    // A body that says that it is too large is not waited for; one that does not say so is cut off.
    let said = web.send("POST", "/items", &[], Some(&vec![b' '; 2 * 1024 * 1024]));
    assert_eq!(said.reason(413), "too_long");
    let mut stream = web.connect();
    let start = format!(
        "POST /api/v1/items HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        web.address
    );
    stream.write_all(start.as_bytes()).expect("sent");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let mut sent = 0;
    while sent < 64 * 1024 * 1024 && stream.write_all(chunk.as_bytes()).is_ok() {
        sent += 0x10000;
    }
    assert!(sent < 32 * 1024 * 1024, "the server took {sent} bytes");
    assert_eq!(web.to("POST", "/mcp", &[], Some(&vec![b' '; 2 * 1024 * 1024])).reason(413), "too_long");
    web.item("still here");
}

#[test]
fn what_is_no_http_is_refused() {
    let web = Web::start();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: \x00\r\n\r\n",
    ] {
        let answer = web.raw(bytes);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&answer));
    }
    // Two lengths could hide one request in another.
    let smuggled = format!(
        "POST /api/v1/items HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        web.address
    );
    let answer = web.raw(smuggled.as_bytes());
    assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    let doubled = format!(
        "POST /api/v1/items HTTP/1.1\r\nhost: {}\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde",
        web.address
    );
    assert!(web.raw(doubled.as_bytes()).starts_with(b"HTTP/1.1 400"));
    // One after the other on one connection, each is answered in turn.
    let two = format!(
        "GET /healthz HTTP/1.1\r\nhost: {0}\r\n\r\nGET /readyz HTTP/1.1\r\nhost: {0}\r\nconnection: close\r\n\r\n",
        web.address
    );
    let answers = String::from_utf8_lossy(&web.raw(two.as_bytes())).into_owned();
    assert!(answers.find("ok\n") < answers.find("ready\n"), "{answers}");
    assert_eq!(web.get("/items").with(200)["total"], json!(0));
}

/// What the slow ones send: a byte in each round, never to the end of a head.
const TRICKLE: &[u8] =
    b"GET /api/v1/items HTTP/1.1\r\nhost: localhost\r\nx-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// How many of them there are.
const TRICKLERS: usize = 1000;
/// In how many seconds a head must have come.
const HEAD_SECONDS: u64 = 4;

/// A slowloris: a byte a second on each of a thousand connections. That something comes again and again keeps none of them, and
/// whoever asks meanwhile waits for nobody.
#[test]
fn a_head_that_trickles_in_is_cut_off_and_holds_nobody_up() {
    let web = Web::start_with(&format!("[server]\nheader_timeout_seconds = {HEAD_SECONDS}\n"), |_| {});
    web.get("/items").with(200);
    let mut slow: Vec<_> = (0..TRICKLERS)
        .map(|_| {
            let stream = web.connect();
            stream.set_nonblocking(true).expect("it does not wait");
            (stream, Instant::now(), None)
        })
        .collect();
    let mut waits = Vec::new();
    for byte in TRICKLE.chunks(1) {
        let round = Instant::now();
        for (stream, opened, lasted) in slow.iter_mut().filter(|(_, _, lasted)| lasted.is_none()) {
            // What a closed connection is told it takes once: the second time it fails, and reading tells at once.
            let gone = stream.write_all(byte).is_err() || !is_open(stream);
            *lasted = gone.then(|| opened.elapsed());
        }
        if slow.iter().all(|(_, _, lasted)| lasted.is_some()) {
            break;
        }
        while round.elapsed() < Duration::from_secs(1) {
            let begun = Instant::now();
            web.get("/items").with(200);
            waits.push(begun.elapsed());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let allowed = Duration::from_secs(HEAD_SECONDS)..Duration::from_secs(HEAD_SECONDS + 4);
    for (_, _, lasted) in &slow {
        let lasted = lasted.expect("a byte a second keeps a connection open for ever");
        assert!(allowed.contains(&lasted), "a connection was open for {lasted:?}");
    }
    waits.sort();
    let p99 = waits[waits.len() * 99 / 100];
    assert!(
        waits.len() > 100 && p99 < Duration::from_millis(200),
        "of {} one in a hundred waited {p99:?}",
        waits.len()
    );
}

/// Whether the other end has not closed.
fn is_open(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 512];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return false,
            // It may say why it closes.
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn whoever_is_slow_is_let_go_and_holds_nobody_up() {
    let web = Web::start_with("[server]\nheader_timeout_seconds = 1\nbody_timeout_seconds = 1\n", |_| {});
    // Many that never finish their heads.
    let mut slow: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = web.connect();
            stream.write_all(b"GET /api/v1/items HTTP/1.1\r\nhost: loc").expect("sent");
            stream
        })
        .collect();
    let mut worst = Duration::ZERO;
    for _ in 0..50 {
        let begun = Instant::now();
        web.get("/items").with(200);
        worst = worst.max(begun.elapsed());
    }
    assert!(worst < Duration::from_millis(500), "somebody waited {worst:?}");
    let begun = Instant::now();
    for stream in &mut slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // A body that does not come.
    let mut stream = web.connect();
    let start = format!(
        "POST /api/v1/items HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        web.address
    );
    stream.write_all(start.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(parse(&answer).reason(408), "too_slow");
}
