//! What else answers on the same port: a protocol that this crate knows nothing of.

use std::convert::Infallible;
use std::pin::Pin;

use bytes::Bytes;
use docket_core::Error;
use docket_core::model::Slug;
use http::{Request, Response};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;

use crate::gate::Caller;

/// A request that is being answered.
pub type Answering<'e> = Pin<Box<dyn Future<Output = Result<Response<BoxBody<Bytes, Infallible>>, Error>> + Send + 'e>>;

/// Answers everything beneath `/mcp`. Host, origin, caller and size were looked at before.
pub trait Endpoint: Send + Sync + 'static {
    /// Answers one request of a caller, for the surface and the project that the address names.
    fn answer(
        &self,
        caller: Caller,
        surface: Option<String>,
        project: Option<Slug>,
        request: Request<Full<Bytes>>,
    ) -> Answering<'_>;

    /// Whether a body asks for anything. What only tells something is no call that anybody counts: whoever may make no more calls for now
    /// may still take one back.
    fn asks(&self, body: &[u8]) -> bool {
        _ = body;
        true
    }

    /// Ends what only waits, as if its time were over: the server is about to stop.
    fn stop(&self);

    /// Ends what is still under way: the time that it had for that is over.
    fn close(&self);
}
