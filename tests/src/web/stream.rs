//! A live stream of events, read as it comes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::{PATIENCE, Web, request};

/// A live stream of events.
#[derive(Debug)]
pub struct Stream {
    reader: BufReader<Pieces>,
}

/// A body in pieces, put together again: whoever passes it on may cut it anywhere.
#[derive(Debug)]
struct Pieces {
    reader: BufReader<TcpStream>,
    /// How much of a piece is still to come.
    left: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.left == 0 {
            let mut size = String::new();
            if self.reader.read_line(&mut size)? == 0 {
                return Ok(0);
            }
            // An empty line is the end of the piece before.
            match usize::from_str_radix(size.trim(), 16) {
                Ok(0) => return Ok(0),
                Ok(size) => self.left = size,
                Err(error) if !size.trim().is_empty() => return Err(std::io::Error::other(error)),
                Err(_) => {}
            }
        }
        let most = buffer.len().min(self.left);
        let read = self.reader.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

/// One event of a stream.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The event itself.
    pub data: Value,
}

impl Stream {
    /// Opens a stream; `headers` may say where to go on.
    pub fn open(web: &Web, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::try_open(web.address, path, headers, PATIENCE).unwrap_or_else(|head| panic!("no stream: {head}"))
    }

    /// The same from a server that may be gone; ends when nothing comes for as long as `patience`. What it said instead
    /// of a stream is returned.
    pub fn try_open(
        address: SocketAddr,
        path: &str,
        headers: &[(&str, &str)],
        patience: Duration,
    ) -> Result<Self, String> {
        let gone = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect(address).map_err(gone)?;
        stream.set_read_timeout(Some(patience)).map_err(gone)?;
        stream.write_all(&request(address, "GET", &format!("/api/v1{path}"), headers, None)).map_err(gone)?;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).map_err(gone)? == 0 {
                return Err(head);
            }
        }
        let told = head.to_ascii_lowercase();
        if !head.starts_with("HTTP/1.1 200") || !told.contains("text/event-stream") {
            return Err(head);
        }
        assert!(told.contains("transfer-encoding: chunked"), "{head}");
        Ok(Self { reader: BufReader::new(Pieces { reader, left: 0 }) })
    }

    /// The next event; none when the stream ends.
    pub fn next_event(&mut self) -> Option<Sent> {
        let mut sent = Sent { id: 0, name: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(id) = line.strip_prefix("id: ") {
                sent.id = id.parse().ok()?;
            } else if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut sent.name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                sent.data = serde_json::from_str(data).ok()?;
                return Some(sent);
            }
        }
    }
}
