//! Traces of calls for a collector, by OTLP over HTTP, where one is configured. Without one, nothing of this is made.
//!
//! Spans wait in a queue of a fixed length and are sent by a thread of their own. A collector that is slow or away costs spans, and
//! never a call: what does not fit is dropped, and it is said once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use docket_core::span::TARGET;
use http::{HeaderMap, Request, Response};
use opentelemetry::KeyValue;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::Span;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::{Layer, Registry};

use crate::config::Configuration;
use crate::config::locate::Surroundings;
use crate::exit::Failure;

/// What the server is called when nobody says otherwise.
const SERVICE_NAME: &str = "docket";
/// How long a collector may take for what is sent to it.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last spans may take when the server stops.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// Most of an answer that is read; what a collector answers is short.
const ANSWER_BYTES: usize = 64 * 1024;

/// Traces on their way to a collector.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Traces go where the environment says, else where the configuration says; nothing where neither does.
    pub(crate) fn start(around: &Surroundings, config: &Configuration) -> Result<Option<Self>, Failure> {
        let Some(address) = config.telemetry.traces(around)? else { return Ok(None) };
        let failed = |error: &dyn std::fmt::Display| Failure::environment(format!("traces cannot be sent: {error}"));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector::new().map_err(|error| failed(&error))?)
            .with_endpoint(String::from(address))
            .with_timeout(SEND_TIMEOUT)
            .build()
            .map_err(|error| failed(&error))?;
        let resource = resource(config.telemetry.service_name.as_deref());
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        Ok(Some(Self { provider }))
    }

    /// The layer that takes the spans of calls, and no others.
    pub(crate) fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(SERVICE_NAME))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_target(TARGET, LevelFilter::INFO))
            .boxed()
    }

    /// Sends what is left.
    pub(crate) async fn close(self) {
        // The thread that sends needs this runtime for it, so it must not be waited for on one of its workers.
        let ended = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH_TIMEOUT)).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::warn!("the last traces were not taken");
        }
    }
}

/// Makes a call's span a part of the trace that its caller names by `traceparent`.
pub(crate) fn adopt(span: &Span, headers: &HeaderMap) {
    if headers.contains_key("traceparent") {
        let caller = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        // A span that is not collected has no place in any trace.
        _ = span.set_parent(caller);
    }
}

/// Who sends the traces: as the standard variables say, then the file.
fn resource(configured: Option<&str>) -> Resource {
    let named = Resource::builder().build().get(&"service.name".into()).map(|name| name.to_string());
    // The library makes one up where nothing was said.
    let named = named.filter(|name| !name.starts_with("unknown_service"));
    let name = named.unwrap_or_else(|| configured.unwrap_or(SERVICE_NAME).to_owned());
    Resource::builder()
        .with_service_name(name)
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("service.instance.id", uuid::Uuid::new_v4().to_string()))
        .build()
}

/// The way to the collector, for a thread that is none of the runtime's.
#[derive(Debug)]
struct Collector {
    client: reqwest::Client,
    runtime: Handle,
    away: AtomicBool,
}

impl Collector {
    fn new() -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(SEND_TIMEOUT)
            .connect_timeout(SEND_TIMEOUT)
            .no_proxy()
            .user_agent(concat!("docket/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, runtime: Handle::current(), away: AtomicBool::new(false) })
    }

    /// Says it once when the collector goes away, and once when it is back.
    fn note(&self, taken: bool) {
        if !taken && !self.away.swap(true, Ordering::Relaxed) {
            tracing::warn!("the collector of traces does not take them: they are dropped until it does");
        } else if taken && self.away.swap(false, Ordering::Relaxed) {
            tracing::warn!("the collector of traces takes them again");
        }
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let sent = self.runtime.spawn(send(self.client.clone(), request)).await;
        let answer = sent.map_err(HttpError::from).and_then(|sent| sent.map_err(HttpError::from));
        self.note(answer.as_ref().is_ok_and(|answer| answer.status().is_success()));
        answer
    }
}

async fn send(client: reqwest::Client, request: reqwest::Request) -> Result<Response<Bytes>, reqwest::Error> {
    let mut answer = client.execute(request).await?;
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = answer.status();
    response.headers_mut().clone_from(answer.headers());
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await? {
        if body.len() + part.len() > ANSWER_BYTES {
            break;
        }
        body.extend_from_slice(&part);
    }
    *response.body_mut() = body.into();
    Ok(response)
}
