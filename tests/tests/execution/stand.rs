//! A server that speaks the routes of one pull request, by its number and by its branch, and says of it what it is told to. To whoever
//! does not show the token that it wants, nothing is there.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Open,
    Merged,
    Closed,
    /// It is away: this status, and when to come back.
    Away(u16),
}

/// A running server.
#[derive(Clone)]
pub(crate) struct Stand {
    pub(crate) address: String,
    state: Arc<Mutex<(Says, usize)>>,
    token: Option<&'static str>,
}

impl Stand {
    pub(crate) fn start(says: Says) -> Self {
        Self::wanting(None, says)
    }

    /// One that shows its pull request to whoever has this token.
    pub(crate) fn private(token: &'static str, says: Says) -> Self {
        Self::wanting(Some(token), says)
    }

    fn wanting(token: Option<&'static str>, says: Says) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let stand = Self { address, state: Arc::new(Mutex::new((says, 0))), token };
        let serving = stand.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| serving.serve(stream)));
        stand
    }

    pub(crate) fn say(&self, says: Says) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = says;
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        let mut buffer = [0; 4096];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer) {
                Ok(length) if length > 0 => head.extend_from_slice(&buffer[..length]),
                _ => return,
            }
        }
        let says = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.1 += 1;
            state.0
        };
        let head = String::from_utf8_lossy(&head).into_owned();
        let is_shown = self.token.is_none_or(|token| {
            head.to_ascii_lowercase().lines().any(|line| line == format!("authorization: bearer {token}"))
        });
        let by_branch = head.starts_with("GET /repos/octo/demo/pulls?head=octo%3Afix&state=all");
        let right = is_shown && (by_branch || head.starts_with("GET /repos/octo/demo/pulls/2 "));
        let known = |state: &str, merged_at: &str| {
            let pull = pull(state, merged_at);
            reply(200, &if by_branch { format!("[{pull}]") } else { pull })
        };
        let said = match says {
            _ if !right => reply(404, "{\"message\":\"Not Found\"}"),
            Says::Away(status) => reply(status, "{}"),
            Says::Open => known("open", "null"),
            Says::Merged => known("closed", "\"2026-01-02T03:04:05Z\""),
            Says::Closed => known("closed", "null"),
        };
        let _ = stream.write_all(said.as_bytes());
    }
}

fn reply(status: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn pull(state: &str, merged_at: &str) -> String {
    format!(
        "{{\"number\":2,\"state\":\"{state}\",\"html_url\":\"https://github.com/octo/demo/pull/2\",\
         \"merged_at\":{merged_at},\"merge_commit_sha\":\"c0ffee\",\"head\":{{\"ref\":\"x\",\"sha\":\"h\"}},\
         \"base\":{{\"ref\":\"main\",\"sha\":\"b\"}}}}"
    )
}
