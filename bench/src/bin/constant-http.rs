//! The baseline of every request over HTTP: an axum route that answers a constant, so large as the only argument says. It
//! prints its address, and ends with its input.
#![expect(clippy::print_stdout, reason = "who started it reads where it listens")]

use anyhow::{Context as _, Result};
use axum::Router;
use axum::routing::get;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

fn main() -> Result<()> {
    let bytes: usize = std::env::args().nth(1).context("usage: constant-http BYTES")?.parse()?;
    let body = format!("\"{}\"", "x".repeat(bytes.saturating_sub(2)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    std::thread::spawn(|| {
        // Nothing is sent: the end of it is the end of whoever started this.
        _ = std::io::read_to_string(std::io::stdin());
        std::process::exit(0);
    });
    runtime.block_on(async {
        let answer = move || {
            let body = body.clone();
            async move { ([("content-type", "application/json")], body) }
        };
        let router = Router::new().route("/api/v1/items/{id}", get(answer));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{{\"url\":\"http://{}\"}}", listener.local_addr()?);
        // As the product does: otherwise an answer may wait for the other side's acknowledgement.
        let listener = listener.tap_io(|stream| {
            _ = stream.set_nodelay(true);
        });
        Ok(axum::serve(listener, router).await?)
    })
}
