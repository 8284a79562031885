//! A small HTTP server on this machine that answers as it is told, well or badly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// How it answers.
#[derive(Clone, Debug)]
pub(crate) enum Mood {
    Body(String),
    Status(u16),
    Redirect(String),
    Hang,
    /// A body without end.
    Flood,
    /// By path: a discovery document, else keys.
    Discovery {
        issuer: String,
        keys: String,
    },
    /// The same as another, after a while.
    Late(Duration, Box<Self>),
}

/// A running server.
#[derive(Clone)]
pub(crate) struct KeyServer {
    pub(crate) address: String,
    mood: Arc<Mutex<Mood>>,
    asked: Arc<AtomicUsize>,
}

impl KeyServer {
    pub(crate) async fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Self { address, mood: Arc::new(Mutex::new(mood)), asked: Arc::default() };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move { serving.answer(stream).await });
            }
        });
        server
    }

    pub(crate) async fn be(&self, mood: Mood) {
        *self.mood.lock().await = mood;
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    async fn answer(&self, mut stream: TcpStream) {
        let mut request = [0; 4096];
        let length = stream.read(&mut request).await.unwrap_or(0);
        let request = String::from_utf8_lossy(&request[..length]).into_owned();
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut mood = self.mood.lock().await.clone();
        while let Mood::Late(by, then) = mood {
            tokio::time::sleep(by).await;
            mood = *then;
        }
        let body = |body: &str| {
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        };
        let answer = match mood {
            Mood::Body(text) => body(&text),
            Mood::Status(code) => format!("HTTP/1.1 {code} Bad\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
            Mood::Redirect(to) => {
                format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            }
            Mood::Discovery { issuer, keys } => {
                let uri = format!("{}/keys", self.address);
                if request.contains("openid") {
                    body(&serde_json::json!({ "issuer": issuer, "jwks_uri": uri }).to_string())
                } else {
                    body(&keys)
                }
            }
            Mood::Hang | Mood::Late(..) => {
                tokio::time::sleep(Duration::from_mins(1)).await;
                return;
            }
            Mood::Flood => {
                _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n").await;
                let part = vec![b' '; 64 * 1024];
                while stream.write_all(&part).await.is_ok() {}
                return;
            }
        };
        _ = stream.write_all(answer.as_bytes()).await;
    }
}
