//! Fetches small documents from addresses that the operator configured: no redirects, a time limit, a size limit.

use reqwest::{Client, StatusCode, redirect};

use crate::settings::SetupError;
use crate::{FETCH_BYTES, FETCH_TIMEOUT};

/// A document that could not be fetched; the text is for the log and for records, and names no content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct FetchError(pub(crate) String);

/// The means to fetch.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher(Client);

impl Fetcher {
    pub(crate) fn new() -> Result<Self, SetupError> {
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(FETCH_TIMEOUT)
            .connect_timeout(FETCH_TIMEOUT)
            .no_proxy()
            .user_agent(concat!("docket/", env!("CARGO_PKG_VERSION")))
            .build();
        client.map(Self).map_err(|error| SetupError(format!("keys cannot be fetched here: {error}")))
    }

    /// The body of a document.
    pub(crate) async fn get(&self, address: &str) -> Result<Vec<u8>, FetchError> {
        let failed = |error: &reqwest::Error| {
            let what = if error.is_timeout() {
                "did not answer in time"
            } else if error.is_connect() {
                "cannot be reached"
            } else {
                "cannot be fetched"
            };
            FetchError(format!("the key server {what}"))
        };
        let mut response = self.0.get(address).send().await.map_err(|error| failed(&error))?;
        if response.status() != StatusCode::OK {
            return Err(FetchError(format!("the key server answered {}", response.status().as_u16())));
        }
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| failed(&error))? {
            if body.len() + part.len() > FETCH_BYTES {
                return Err(FetchError(format!("the key server's answer is longer than {FETCH_BYTES} bytes")));
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }
}
