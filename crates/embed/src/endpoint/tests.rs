//! Against a stand-in that speaks the real route, over a real socket.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// Answers each request with the next of these statuses and bodies; keeps what it was asked.
async fn stand_in(answers: Vec<(u16, String)>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        for (status, body) in answers {
            let Ok((mut socket, _)) = listener.accept().await else { return };
            let mut request = Vec::new();
            let mut part = [0; 4096];
            loop {
                let read = socket.read(&mut part).await.expect("a request");
                request.extend_from_slice(&part[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let length = text
                    .lines()
                    .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
                if text.split_once("\r\n\r\n").is_some_and(|(_, body)| Some(body.len()) >= length) || read == 0 {
                    seen.lock().expect("no panic").push(text);
                    break;
                }
            }
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            socket.write_all(head.as_bytes()).await.expect("a head");
            socket.write_all(body.as_bytes()).await.expect("a body");
        }
    });
    (base, asked)
}

fn endpoint(base: String, key: Option<&str>) -> Endpoint {
    let settings = EndpointSettings { base, model: "some-model".to_owned(), key: key.map(str::to_owned) };
    Endpoint::new(settings).expect("an endpoint")
}

fn texts() -> Vec<String> {
    vec!["one".to_owned(), "two".to_owned()]
}

#[tokio::test]
async fn texts_become_vectors_in_their_order() {
    let body = r#"{"object":"list","data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}"#;
    let (base, asked) = stand_in(vec![(200, body.to_owned())]).await;
    let vectors = endpoint(base, Some("secret")).embed(&texts(), Patience::Much).await.expect("vectors");
    assert_eq!(vectors, [[1.0, 0.0], [0.0, 1.0]]);
    let request = asked.lock().expect("no panic")[0].clone();
    assert!(request.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{request}");
    assert!(request.to_ascii_lowercase().contains("authorization: bearer secret"), "{request}");
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!((&body["model"], &body["input"]), (&json!("some-model"), &json!(["one", "two"])));
}

#[tokio::test]
async fn who_is_busy_is_asked_again_and_who_refuses_is_not() {
    let good = r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#.to_owned();
    let (base, asked) = stand_in(vec![(503, String::new()), (429, String::new()), (200, good)]).await;
    let vectors = endpoint(base, None).embed(&texts(), Patience::Much).await.expect("vectors");
    assert_eq!((vectors.len(), asked.lock().expect("no panic").len()), (2, 3));
    let (base, asked) = stand_in(vec![(401, "no".to_owned()), (200, String::new())]).await;
    let refused = endpoint(base, None).embed(&texts(), Patience::Much).await.expect_err("a refusal");
    assert_eq!(refused, EmbedError::Refused("it answered 401".to_owned()));
    assert_eq!(asked.lock().expect("no panic").len(), 1);
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let away =
        endpoint(format!("http://{nobody}"), None).embed(&texts(), Patience::Much).await.expect_err("nobody there");
    assert_eq!(away, EmbedError::Away("it cannot be reached".to_owned()));
}

#[tokio::test]
async fn who_waits_asks_once_and_leaves_alone_who_failed_a_moment_ago() {
    let good = r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#.to_owned();
    let (base, asked) = stand_in(vec![(503, String::new()), (200, good)]).await;
    let endpoint = endpoint(base.clone(), None);
    assert_eq!(endpoint.model(), format!("some-model@{base}"), "the same name elsewhere may be another model");
    let away = endpoint.embed(&texts(), Patience::Little).await.expect_err("busy");
    assert_eq!(away, EmbedError::Away("it answered 503".to_owned()));
    for _ in 0..3 {
        let left = endpoint.embed(&texts(), Patience::Little).await.expect_err("left alone");
        assert!(matches!(left, EmbedError::Away(_)));
    }
    assert_eq!(asked.lock().expect("no panic").len(), 1, "it was asked once");
    endpoint.embed(&texts(), Patience::Much).await.expect("whoever has time asks");
}

#[tokio::test]
async fn who_never_answers_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let endpoint = endpoint(format!("http://{}", listener.local_addr().expect("an address")), None);
    let silent = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.expect("a caller");
        std::future::pending::<()>().await;
        drop(socket);
    });
    // Three tries of ten seconds would take half a minute.
    let texts = texts();
    let asked = tokio::time::timeout(Duration::from_secs(9), endpoint.embed(&texts, Patience::Little));
    let late = asked.await.expect("an answer within seconds").expect_err("no vectors");
    assert_eq!(late, EmbedError::Away("it did not answer in time".to_owned()));
    silent.abort();
}

#[tokio::test]
async fn a_text_that_is_refused_is_told_from_a_caller_that_is() {
    for (status, rejected) in [(400, true), (413, true), (422, true), (401, false), (403, false), (404, false)] {
        let (base, _) = stand_in(vec![(status, String::new())]).await;
        let refused = endpoint(base, None).embed(&texts(), Patience::Much).await.expect_err("a refusal");
        assert_eq!(matches!(refused, EmbedError::Rejected(_)), rejected, "{status}: {refused:?}");
    }
}

#[test]
fn what_is_no_list_of_vectors_is_refused() {
    for answer in [
        "",
        "{}",
        r#"{"data":[]}"#,
        r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#,
        r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#,
        r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]}"#,
        r#"{"data":[{"index":0,"embedding":[1]},{"index":9,"embedding":[2]}]}"#,
        r#"{"data":[{"embedding":[1e39]},{"embedding":[2]}]}"#,
    ] {
        assert!(matches!(read(answer.as_bytes(), 2), Err(EmbedError::Nonsense(_))), "{answer}");
    }
    let long = format!(r#"{{"data":[{{"embedding":[{}1]}}]}}"#, "1,".repeat(limits::VECTOR_NUMBERS));
    assert!(read(long.as_bytes(), 1).is_err(), "longer than is kept");
}

#[test]
fn only_addresses_of_the_web_will_do() {
    for base in ["", "file:///etc", "example.com", "https://", "https://user:pass@example.com"] {
        let settings = EndpointSettings { base: base.to_owned(), model: "m".to_owned(), key: None };
        assert!(Endpoint::new(settings).is_err(), "{base}");
    }
    let settings = EndpointSettings { base: "x".to_owned(), model: "m".to_owned(), key: Some("secret".to_owned()) };
    assert!(!format!("{settings:?}").contains("secret"));
}
