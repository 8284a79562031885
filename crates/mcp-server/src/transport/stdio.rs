//! Serves one connection over standard input and output.
//!
//! Where the streams are pipes or sockets they are read and written by the reactor itself: tokio's own handles hand
//! every operation to another thread, which costs more than most calls do. Run this on a current-thread runtime.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{ClientNotification, ClientRequest, ErrorData, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, QuitReason, RequestContext, RoleServer, ServerInitializeError, Service};
use rmcp::{ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::line::LineTransport;
use crate::server::DocketServer;
use crate::session::{Session, Settings};
use crate::surface::Surface;

/// Why serving ended in another way than the other side going away.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The other side did not begin as the protocol asks.
    #[error("the connection could not be opened")]
    Open(#[source] Box<ServerInitializeError>),
    /// Something inside gave way.
    #[error("serving broke off")]
    Broken(#[source] tokio::task::JoinError),
}

/// Serves a surface over standard input and output until the input ends and everything asked is answered.
pub async fn serve_stdio(settings: Settings, surface: Arc<dyn Surface>) -> Result<(), ServeError> {
    serve(settings, surface, streams::input(), streams::output()).await
}

/// Serves a surface over a pair of streams until the input ends and everything asked is answered.
pub async fn serve<R, W>(settings: Settings, surface: Arc<dyn Surface>, read: R, write: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let gone = CancellationToken::new();
    let server = Overhearing(DocketServer::new(Session::new(settings), surface, gone.clone()));
    let running = match server.serve(LineTransport::new(read, write, gone)).await {
        Ok(running) => running,
        // Whoever leaves before saying who they are has asked for nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Open(Box::new(error))),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Broken(error)),
        Ok(_) => Ok(()),
    }
}

/// A server that listens for changes before it says that it does.
struct Overhearing(DocketServer);

impl Service<RoleServer> for Overhearing {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if matches!(request, ClientRequest::SubscriptionsListenRequest(_)) {
            self.0.overhear(&mut context).await;
        }
        Service::handle_request(&self.0, request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}

#[cfg(unix)]
mod streams {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream as StdStream;

    use tokio::io::{AsyncRead, AsyncWrite};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    /// Standard input: by the reactor where that is possible.
    pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
        // Opened anew, so that "do not block" stays ours and does not leak to whoever shares the pipe.
        if let Ok(pipe) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
            return Box::new(pipe);
        }
        match socket(io::stdin().as_fd()) {
            Some(socket) => Box::new(socket),
            None => Box::new(tokio::io::stdin()),
        }
    }

    /// Standard output: by the reactor where that is possible.
    pub(super) fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
        if let Ok(pipe) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
            return Box::new(pipe);
        }
        match socket(io::stdout().as_fd()) {
            Some(socket) => Box::new(socket),
            None => Box::new(tokio::io::stdout()),
        }
    }

    fn socket(stream: BorrowedFd<'_>) -> Option<UnixStream> {
        let copy: OwnedFd = stream.try_clone_to_owned().ok()?;
        let file = File::from(copy);
        if !file.metadata().ok()?.file_type().is_socket() {
            return None;
        }
        let socket = StdStream::from(OwnedFd::from(file));
        socket.set_nonblocking(true).ok()?;
        UnixStream::from_std(socket).ok()
    }
}

#[cfg(not(unix))]
mod streams {
    pub(super) fn input() -> tokio::io::Stdin {
        tokio::io::stdin()
    }

    pub(super) fn output() -> tokio::io::Stdout {
        tokio::io::stdout()
    }
}
