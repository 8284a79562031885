//! The document, and a page that renders it: everything comes from here, nothing from the network.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};

use crate::answer::{Answer, ok};
use crate::app::Shared;
use crate::openapi;
use crate::pages::ways;

const PAGE: &str = include_str!("docs/page.html");
const SCRIPT: &str = include_str!("docs/page.js");
const STYLE: &str = include_str!("docs/page.css");
/// Nothing is loaded from elsewhere, nothing inline is run, nobody frames the page.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The OpenAPI document.
pub(crate) async fn document() -> Answer {
    ok(openapi::document())
}

/// The page, with the ways to those beside it.
pub(crate) async fn page(State(shared): State<Arc<Shared>>) -> Response {
    let page = PAGE.replace("<!-- pages -->", &ways(&shared.pages));
    ([(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, POLICY)], page).into_response()
}

/// Its script.
pub(crate) async fn script() -> Response {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT).into_response()
}

/// Its style.
pub(crate) async fn style() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}
