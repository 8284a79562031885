//! The routes, one resource a file: parse, call the engine, shape the answer.

mod api_keys;
mod blocked;
mod brief;
mod bulk;
mod checks;
mod claims;
mod comments;
mod dossier;
mod edges;
mod estimate;
mod events;
mod evidence;
mod exchange;
mod inbox;
mod item;
mod item_body;
mod knowledge;
mod links;
mod list;
mod markdown;
mod mcp;
mod notes;
mod overview;
mod probes;
mod projects;
mod questions;
mod queue;
mod runs;
mod sessions;
mod stream;
mod transitions;
mod tree;
mod types;
mod views;
mod work;

pub(crate) use dossier::{Include, Reading};
pub(crate) use exchange::{IMPORT, begin as begin_import, may_begin as may_import};
pub(crate) use mcp::is_meant as is_mcp;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use docket_core::Error;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::Shared;
use crate::failure::Failure;
use crate::{docs, front, pages, resource};

/// Where a client learns how to get a token.
pub(crate) const METADATA: &str = "/.well-known/oauth-protected-resource";
/// Where the resources begin.
pub(crate) const BASE: &str = "/api/v1";

/// The resources with their part of the document.
pub(crate) fn resources() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(projects::list, projects::create))
        .routes(routes!(projects::show, projects::change))
        .routes(routes!(projects::workflow))
        .routes(routes!(projects::settings, projects::change_settings))
        .routes(routes!(projects::health))
        .routes(routes!(projects::activity))
        .routes(routes!(estimate::show))
        .routes(routes!(markdown::import))
        .routes(routes!(item::create, list::list))
        .routes(routes!(item::show, item::change, item::remove))
        .routes(routes!(list::search))
        .routes(routes!(tree::forest))
        .routes(routes!(tree::beneath))
        .routes(routes!(tree::create))
        .routes(routes!(tree::close))
        .routes(routes!(tree::close_whole))
        .routes(routes!(dossier::show))
        .routes(routes!(brief::show, brief::replace, brief::merge, brief::clear))
        .routes(routes!(brief::verdict))
        .routes(routes!(evidence::add))
        .merge(proof())
        .routes(routes!(questions::ask, questions::list))
        .routes(routes!(questions::answer))
        .routes(routes!(questions::withdraw))
        .routes(routes!(inbox::list))
        .routes(routes!(comments::add, comments::list))
        .routes(routes!(links::add, links::list))
        .routes(routes!(links::remove))
        .merge(learned())
        .routes(routes!(work::begin))
        .routes(routes!(work::finish))
        .merge(attempts())
        .routes(routes!(views::context))
        .routes(routes!(views::standing))
        .routes(routes!(views::why_item))
        .routes(routes!(views::why))
        .routes(routes!(views::me))
        .routes(routes!(overview::overview))
        .routes(routes!(overview::of_item))
        .routes(routes!(blocked::blocked))
        .routes(routes!(transitions::advance))
        .routes(routes!(claims::claim, claims::release))
        .routes(routes!(queue::queue))
        .routes(routes!(queue::claim_next))
        .routes(routes!(notes::list))
        .routes(routes!(notes::show, notes::put, notes::remove))
        .routes(routes!(edges::of_item))
        .routes(routes!(edges::create, edges::remove_between))
        .routes(routes!(edges::remove))
        .routes(routes!(events::list))
        .routes(routes!(events::of_item))
        .routes(routes!(stream::stream))
        .routes(routes!(types::list))
        .routes(routes!(types::show))
        .routes(routes!(types::workflow))
        .routes(routes!(types::workflows))
        .routes(routes!(types::preset))
        .routes(routes!(bulk::create, bulk::change))
        .routes(routes!(bulk::patch))
        .routes(routes!(bulk::remove))
        .routes(routes!(bulk::advance))
        .routes(routes!(bulk::claim))
        .routes(routes!(bulk::put_notes))
        .routes(routes!(bulk::link))
        .routes(routes!(exchange::export))
        .routes(routes!(exchange::import))
        .merge(keys())
}

/// Keys of callers.
fn keys() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(api_keys::list, api_keys::create))
        .routes(routes!(api_keys::revoke))
        .routes(routes!(api_keys::rotate))
}

/// What was learned.
fn learned() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(knowledge::add, knowledge::list))
        .routes(routes!(knowledge::search))
        .routes(routes!(knowledge::show, knowledge::change, knowledge::remove))
        .routes(routes!(knowledge::review))
        .routes(routes!(knowledge::digest))
        .routes(routes!(knowledge::cite, knowledge::uncite))
}

/// Attempts at items.
fn attempts() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(sessions::begin))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::heartbeat))
        .routes(routes!(sessions::finish))
        .routes(routes!(sessions::cancel))
}

/// What shows that work is done.
fn proof() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(checks::show, checks::replace, checks::add))
        .routes(routes!(checks::approve))
        .routes(routes!(checks::attest))
        .routes(routes!(checks::run))
        .routes(routes!(runs::submit))
        .routes(routes!(runs::list))
        .routes(routes!(runs::show))
        .routes(routes!(runs::log))
        .routes(routes!(runs::cancel))
}

/// All routes.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let (resources, _) = resources().split_for_parts();
    let guarded = Router::new().nest(BASE, resources).route_layer(from_fn_with_state(Arc::clone(shared), front::admit));
    let watched = Router::new()
        .route("/metrics", axum::routing::get(probes::metrics))
        .route_layer(from_fn_with_state(Arc::clone(shared), front::recognise));
    Router::new()
        .merge(guarded)
        .merge(mcp::router(shared))
        .merge(watched)
        .route("/healthz", axum::routing::get(probes::health))
        .route("/readyz", axum::routing::get(probes::ready))
        .route(METADATA, axum::routing::get(resource::of_server))
        .route(&format!("{METADATA}/{{*path}}"), axum::routing::get(resource::of_part))
        .route(&format!("{BASE}/openapi.json"), axum::routing::get(docs::document))
        .route("/docs", axum::routing::get(docs::page))
        .route("/docs/page.js", axum::routing::get(docs::script))
        .route("/docs/page.css", axum::routing::get(docs::style))
        .route("/docs/{page}", axum::routing::get(pages::show))
        .fallback(nothing)
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| {
            tracing::error!("a request was dropped by a panic");
            let error = Error::new(
                docket_core::Kind::Transient,
                docket_core::Code::Unavailable,
                docket_core::Reason::StoreFailed,
                "something inside gave way; the log has more of it",
            );
            Failure::with_status(http::StatusCode::INTERNAL_SERVER_ERROR, error).into_response()
        }))
        .layer(from_fn_with_state(Arc::clone(shared), front::front))
        .with_state(Arc::clone(shared))
}

async fn nothing() -> Failure {
    Error::not_found("there is nothing at this address: /docs tells what there is").into()
}
