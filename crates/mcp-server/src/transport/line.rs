//! One JSON-RPC message a line, in and out.
//!
//! rmcp's own reader passes over what it cannot read; this one answers it: a line that is too long, not JSON or no
//! request gets its error, and the next line is read as if nothing had happened. Reading can be interrupted at any
//! point (rmcp polls it beside other things), so everything half done lives in the transport itself.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::message::{Bad, id_at_start, parse};

/// Longest line that is read, its end not counted.
pub const LINE_BYTES: usize = 1024 * 1024;
/// Most requests under way; further lines wait in the pipe.
const IN_FLIGHT: usize = 256;
/// Questions of ours whose answers are still taken; an answer to an older one comes too late.
const ASKED: usize = 256;
/// Bytes read at once, and kept between lines.
const BUFFER_BYTES: usize = 64 * 1024;

/// Requests that were handed over and whose answers are not on their way out yet.
#[derive(Debug, Default)]
struct InFlight {
    state: Mutex<Open>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    /// Not answered.
    ids: HashSet<RequestId>,
    /// Answered, and the answer is being written.
    writing: usize,
    /// What was asked of the other side and is not answered, the oldest first.
    asked: VecDeque<RequestId>,
}

impl InFlight {
    fn state(&self) -> MutexGuard<'_, Open> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request of this id may begin: none is under way.
    fn begin(&self, id: &RequestId) -> bool {
        self.state().ids.insert(id.clone())
    }

    fn cancel(&self, id: &RequestId) {
        self.state().ids.remove(id);
        self.freed.notify_one();
    }

    /// The answer exists: its id may be used again, yet it takes room until the other side has taken it.
    fn answer(&self, id: Option<&RequestId>) {
        let mut state = self.state();
        state.writing += 1;
        if let Some(id) = id {
            state.ids.remove(id);
        }
    }

    fn ask(&self, id: &RequestId) {
        let mut state = self.state();
        if state.asked.len() >= ASKED {
            state.asked.pop_front();
        }
        state.asked.push_back(id.clone());
    }

    /// Whether this was asked of the other side, which answers a question once.
    fn was_asked(&self, id: &RequestId) -> bool {
        let mut state = self.state();
        let at = state.asked.iter().position(|asked| asked == id);
        at.is_some_and(|at| state.asked.remove(at).is_some())
    }

    fn written(&self) {
        self.state().writing -= 1;
        self.freed.notify_one();
    }

    async fn room(&self) {
        loop {
            let taken = {
                let state = self.state();
                state.ids.len() + state.writing
            };
            if taken < IN_FLIGHT {
                return;
            }
            self.freed.notified().await;
        }
    }
}

/// What one look at the input brought.
enum Step {
    /// A whole line is in `line`.
    Line,
    /// A line was too long; the rest of it is passed over. The id of what it asks for, where that came first.
    TooLong(Value),
    /// There is no more input.
    End,
}

/// Lines over a pair of streams.
pub(super) struct LineTransport<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    passing_over: bool,
    opened: bool,
    write: Arc<tokio::sync::Mutex<W>>,
    replies: JoinSet<()>,
    in_flight: Arc<InFlight>,
    /// Told when there is no more input.
    ended: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    /// Lines over these streams; the token is told when there are no more to read.
    pub(super) fn new(read: R, write: W, ended: CancellationToken) -> Self {
        Self {
            read: BufReader::with_capacity(BUFFER_BYTES, read),
            line: Vec::new(),
            passing_over: false,
            opened: false,
            write: Arc::new(tokio::sync::Mutex::new(write)),
            replies: JoinSet::new(),
            in_flight: Arc::default(),
            ended,
        }
    }

    /// Reads on until a line is whole, too long, or the last. Dropped at any await, it loses nothing.
    async fn read_line(&mut self) -> Step {
        loop {
            let available = match self.read.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    tracing::warn!(%error, "standard input cannot be read any more");
                    return Step::End;
                }
            };
            if available.is_empty() {
                let unfinished = !self.line.is_empty() && !self.passing_over;
                return if unfinished { Step::Line } else { Step::End };
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            let content = newline.unwrap_or(available.len());
            let mut too_long = false;
            if !self.passing_over {
                too_long = self.line.len() + content > LINE_BYTES;
                if !too_long {
                    self.line.extend_from_slice(&available[..content]);
                }
            }
            self.read.consume(taken);
            if too_long {
                let id = id_at_start(&self.line);
                self.line.clear();
                self.passing_over = newline.is_none();
                return Step::TooLong(id);
            }
            if newline.is_some() {
                if !self.passing_over {
                    return Step::Line;
                }
                self.passing_over = false;
            }
        }
    }

    /// The message of a line; nothing for a line that asks for no answer.
    fn message(&mut self) -> Result<Option<ClientJsonRpcMessage>, Bad> {
        let parsed = parse(self.line.trim_ascii());
        self.line.clear();
        self.line.shrink_to(BUFFER_BYTES);
        let Some(message) = parsed? else { return Ok(None) };
        match &message {
            JsonRpcMessage::Request(request) => {
                if !self.in_flight.begin(&request.id) {
                    let id = request.id.clone().into_json_value();
                    return Err(Bad {
                        id,
                        ..Bad::new(ErrorCode::INVALID_REQUEST, "a request with this id is under way")
                    });
                }
                self.opened = true;
            }
            JsonRpcMessage::Notification(notification) => {
                // The other side may speak before it introduces itself; nothing can come of it yet.
                if !self.opened {
                    return Ok(None);
                }
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    cancelled.params.request_id.iter().for_each(|id| self.in_flight.cancel(id));
                }
            }
            JsonRpcMessage::Response(response) => {
                if !self.in_flight.was_asked(&response.id) {
                    return Err(Bad::new(ErrorCode::INVALID_REQUEST, "a response to nothing that was asked"));
                }
            }
            JsonRpcMessage::Error(error) => {
                // Answering an error with an error could go on for ever.
                if !error.id.as_ref().is_some_and(|id| self.in_flight.was_asked(id)) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(message))
    }

    fn reply(&mut self, bad: &Bad) {
        let write = Arc::clone(&self.write);
        let line = bad.to_line();
        self.replies.spawn(async move {
            if let Err(error) = put(&write, &line).await {
                tracing::warn!(%error, "an error could not be answered");
            }
        });
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(request) => {
                self.in_flight.ask(&request.id);
                None
            }
            JsonRpcMessage::Notification(_) => None,
        };
        self.in_flight.answer(answered);
        let line = serde_json::to_vec(&item).map(|mut line| {
            line.push(b'\n');
            line
        });
        let write = Arc::clone(&self.write);
        let in_flight = Arc::clone(&self.in_flight);
        async move {
            let put = match &line {
                Ok(line) => put(&write, line).await,
                Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
            };
            in_flight.written();
            put
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.in_flight.room().await;
            let message = match self.read_line().await {
                Step::Line => self.message(),
                Step::TooLong(id) => {
                    let message =
                        format!("a message must be at most {LINE_BYTES} bytes; the rest of the line was passed over");
                    Err(Bad { id, ..Bad::new(ErrorCode::INVALID_REQUEST, message) })
                }
                Step::End => {
                    self.ended.cancel();
                    while self.replies.join_next().await.is_some() {}
                    return None;
                }
            };
            match message {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(bad) => self.reply(&bad),
            }
            while self.replies.try_join_next().is_some() {}
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        while self.replies.join_next().await.is_some() {}
        self.write.lock().await.flush().await
    }
}

async fn put<W: AsyncWrite + Unpin>(write: &tokio::sync::Mutex<W>, line: &[u8]) -> io::Result<()> {
    let mut write = write.lock().await;
    write.write_all(line).await?;
    write.flush().await
}
