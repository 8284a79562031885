//! An endpoint that speaks the route of `OpenAI`: `POST {base}/embeddings`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use docket_core::knowledge::{EmbedError, Embedder, Patience};
use docket_core::limits;
use reqwest::{Client, StatusCode, Url, redirect};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::SetupError;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take where somebody waits for it.
const QUICK_TIMEOUT: Duration = Duration::from_secs(1);
/// How long it is not asked by anybody who waits, after it has failed.
const REST: Duration = Duration::from_secs(10);
/// How long it waits before it asks again, and how often it does.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// Longest answer that is read, in bytes: as many vectors as are asked for at once, of the longest that are kept.
const ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// Which endpoint, and as whom.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Where its routes begin, such as `https://api.openai.com/v1`.
    pub base: String,
    /// The model it is asked for.
    pub model: String,
    /// The key it is shown.
    pub key: Option<String>,
}

impl std::fmt::Debug for EndpointSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is nobody's business but the endpoint's.
        f.debug_struct("EndpointSettings").field("base", &self.base).field("model", &self.model).finish_non_exhaustive()
    }
}

/// Asks an endpoint.
#[derive(Debug)]
pub struct Endpoint {
    client: Client,
    address: Url,
    settings: EndpointSettings,
    /// The model and where it is asked: the same name elsewhere may be another model.
    name: String,
    /// Until when nobody who waits asks it.
    resting: Mutex<Option<Instant>>,
}

impl Endpoint {
    /// Sets it up; nothing is asked yet.
    pub fn new(settings: EndpointSettings) -> Result<Self, SetupError> {
        // The base by itself: an empty host would take the name of the route for its own.
        let address = Url::parse(&settings.base)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty())
            .and_then(|_| Url::parse(&format!("{}/embeddings", settings.base.trim_end_matches('/'))).ok())
            .ok_or_else(|| SetupError("the embedder's address must be an http or https one".to_owned()))?;
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(TIMEOUT)
            .connect_timeout(TIMEOUT)
            .no_proxy()
            .user_agent(concat!("docket/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| SetupError(format!("an embedder cannot be asked from here: {error}")))?;
        let name = format!("{}@{}", settings.model, settings.base.trim_end_matches('/'));
        Ok(Self { client, address, settings, name, resting: Mutex::new(None) })
    }

    /// One try, for somebody who waits.
    async fn ask_quickly(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let resting = || self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        if resting().is_some_and(|until| Instant::now() < until) {
            return Err(EmbedError::Away("it failed a moment ago and is left alone for some seconds".to_owned()));
        }
        let asked = tokio::time::timeout(QUICK_TIMEOUT, self.ask(texts)).await;
        let outcome = asked.unwrap_or_else(|_| Err(EmbedError::Away("it did not answer in time".to_owned())));
        *resting() = outcome.is_err().then(|| Instant::now() + REST);
        outcome
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let body = json!({ "model": self.settings.model, "input": texts, "encoding_format": "float" });
        let mut request =
            self.client.post(self.address.clone()).header("content-type", "application/json").body(body.to_string());
        if let Some(key) = &self.settings.key {
            request = request.bearer_auth(key);
        }
        let mut response = request.send().await.map_err(|error| away(&error))?;
        let status = response.status();
        if status != StatusCode::OK {
            let said = format!("it answered {}", status.as_u16());
            let later = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
            // What it says of the texts themselves.
            let of_these = matches!(status.as_u16(), 400 | 413 | 422);
            return Err(match (later, of_these) {
                (true, _) => EmbedError::Away(said),
                (_, true) => EmbedError::Rejected(said),
                (_, false) => EmbedError::Refused(said),
            });
        }
        let mut answer = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| away(&error))? {
            if answer.len() + part.len() > ANSWER_BYTES {
                return Err(EmbedError::Nonsense(format!("it is longer than {ANSWER_BYTES} bytes")));
            }
            answer.extend_from_slice(&part);
        }
        read(&answer, texts.len())
    }
}

#[async_trait]
impl Embedder for Endpoint {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[String], patience: Patience) -> Result<Vec<Vec<f32>>, EmbedError> {
        if patience == Patience::Little {
            return self.ask_quickly(texts).await;
        }
        let mut outcome = self.ask(texts).await;
        for pause in PAUSES {
            if !matches!(outcome, Err(EmbedError::Away(_))) {
                break;
            }
            tokio::time::sleep(pause).await;
            outcome = self.ask(texts).await;
        }
        outcome
    }
}

fn away(error: &reqwest::Error) -> EmbedError {
    let what = if error.is_timeout() {
        "it did not answer in time"
    } else if error.is_connect() {
        "it cannot be reached"
    } else {
        "it cannot be asked"
    };
    EmbedError::Away(what.to_owned())
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// The vectors of an answer, in the order of the texts, whatever the order they came in.
fn read(answer: &[u8], wanted: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    let nonsense = |what: &str| EmbedError::Nonsense(what.to_owned());
    let reply: Reply = serde_json::from_slice(answer).map_err(|_| nonsense("it is no list of embeddings"))?;
    if reply.data.len() != wanted {
        return Err(nonsense("it has another number of embeddings than texts"));
    }
    let length = reply.data.first().map_or(0, |row| row.embedding.len());
    let mut vectors = vec![Vec::new(); wanted];
    for (place, row) in reply.data.into_iter().enumerate() {
        let plain = row.embedding.iter().all(|number| number.is_finite());
        if row.embedding.len() != length || !(1..=limits::VECTOR_NUMBERS).contains(&length) || !plain {
            return Err(nonsense("its embeddings differ in length, are too long, or hold what is no number"));
        }
        let slot = vectors.get_mut(row.index.unwrap_or(place)).filter(|slot| slot.is_empty());
        *slot.ok_or_else(|| nonsense("it has an embedding twice"))? = row.embedding;
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests;
