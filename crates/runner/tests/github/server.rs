//! A small server that speaks the routes of pull requests, and misbehaves as often as it is told to before it does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One way to misbehave.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(u16),
    /// A status, and how many seconds to wait.
    Limited(u16, &'static str),
    Redirect(String),
    Body(String),
    /// Half of an answer.
    BreakOff,
    Hang,
}

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    asked: Vec<String>,
}

/// A running server.
#[derive(Clone)]
pub(crate) struct Stand {
    pub(crate) address: String,
    state: Arc<Mutex<State>>,
}

impl Stand {
    /// Begins with these answers, and then tells the truth.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State { answers: answers.into(), asked: Vec::new() }));
        let stand = Self { address, state };
        let serving = stand.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move { serving.serve(stream).await });
            }
        });
        stand
    }

    /// What it was asked, head by head.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state.lock().expect("no panic").asked.clone()
    }

    async fn serve(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        let mut buffer = [0; 4096];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer).await {
                Ok(length) if length > 0 => head.extend_from_slice(&buffer[..length]),
                _ => return,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let answer = {
            let mut state = self.state.lock().expect("no panic");
            state.asked.push(head.clone());
            state.answers.pop_front()
        };
        let said = match answer {
            None => route(head.split(' ').nth(1).unwrap_or_default()),
            Some(Answer::Status(code)) => reply(code, "", "{}"),
            Some(Answer::Limited(code, after)) => reply(code, &format!("Retry-After: {after}\r\n"), "{}"),
            Some(Answer::Redirect(to)) => reply(301, &format!("Location: {to}\r\n"), ""),
            Some(Answer::Body(body)) => reply(200, "", &body),
            Some(Answer::BreakOff) => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_owned(),
            Some(Answer::Hang) => return std::future::pending().await,
        };
        let _ = stream.write_all(said.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

/// The routes, over three pull requests.
fn route(target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let known = |number: u32| match number {
        1 => Some(pull(1, "closed", "\"c0ffee1\"", "\"2026-01-02T03:04:05Z\"")),
        2 => Some(pull(2, "open", "\"trial\"", "null")),
        3 => Some(pull(3, "closed", "null", "null")),
        _ => None,
    };
    let Some(rest) = path.strip_prefix("/repos/octo/demo/pulls") else { return reply(404, "", "{}") };
    if let Some(number) = rest.strip_prefix('/') {
        return match number.parse().ok().and_then(known) {
            Some(pull) => reply(200, "", &pull),
            None => reply(404, "", "{\"message\":\"Not Found\"}"),
        };
    }
    let heads = |head: &str| match head {
        "octo%3Afeature%2Fone%26two" => vec![1, 3],
        "someone%3Afix" => vec![2],
        _ => Vec::new(),
    };
    let head = query.split('&').find_map(|pair| pair.strip_prefix("head=")).unwrap_or_default();
    let list: Vec<String> = heads(head).into_iter().filter_map(known).collect();
    reply(200, "", &format!("[{}]", list.join(",")))
}

fn reply(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Said\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// A pull request as the API tells of it, with more than we read.
pub(crate) fn pull(number: u32, state: &str, commit: &str, merged_at: &str) -> String {
    format!(
        "{{\"id\":{number}000,\"number\":{number},\"state\":\"{state}\",\"draft\":false,\"title\":\"a title\",\
         \"html_url\":\"https://github.com/octo/demo/pull/{number}\",\"merged_at\":{merged_at},\
         \"merge_commit_sha\":{commit},\"head\":{{\"label\":\"octo:x\",\"ref\":\"x\",\"sha\":\"head{number}\"}},\
         \"base\":{{\"ref\":\"main\",\"sha\":\"base\"}}}}"
    )
}
