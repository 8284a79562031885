//! What a surface has beside its tools, in the words of the protocol. A surface that has none of a thing has no method for it.

use std::collections::BTreeMap;

use docket_core::{Code, Error, echo};
use rmcp::model::{
    CacheScope, CompleteRequestMethod, CompleteRequestParams, CompleteResult, ErrorCode, ErrorData,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    PaginatedRequestParams, ReadResourceRequestMethod, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
};
use serde_json::json;

use crate::session::Session;
use crate::surface::{Completing, Surface};

/// How long a client may keep a list: it changes only with the program.
pub(crate) const LISTS_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// What the server says that it can do.
pub(crate) fn capabilities(surface: &dyn Surface) -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::builder().enable_tools().build();
    if has_resources(surface) {
        let mut resources = rmcp::model::ResourcesCapability::default();
        resources.subscribe = surface.has_subscriptions().then_some(true);
        capabilities.resources = Some(resources);
    }
    if !surface.prompts().is_empty() {
        capabilities.prompts = Some(rmcp::model::PromptsCapability::default());
    }
    if surface.has_completions() {
        capabilities.completions = Some(rmcp::model::JsonObject::default());
    }
    capabilities
}

/// Whether a surface has any resource.
pub(crate) fn has_resources(surface: &dyn Surface) -> bool {
    !surface.resources().is_empty() || !surface.resource_templates().is_empty()
}

/// The resources.
pub(crate) fn resources(
    surface: &dyn Surface,
    request: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    if !has_resources(surface) {
        return Err(ErrorData::method_not_found::<ListResourcesRequestMethod>());
    }
    only_page(request)?;
    let mut list = ListResourcesResult::with_all_items(surface.resources().to_vec());
    list.ttl_ms = Some(LISTS_TTL_MS);
    list.cache_scope = Some(CacheScope::Private);
    Ok(list)
}

/// The templates of resources.
pub(crate) fn resource_templates(
    surface: &dyn Surface,
    request: Option<PaginatedRequestParams>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    if !has_resources(surface) {
        return Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>());
    }
    only_page(request)?;
    let mut list = ListResourceTemplatesResult::with_all_items(surface.resource_templates().to_vec());
    list.ttl_ms = Some(LISTS_TTL_MS);
    list.cache_scope = Some(CacheScope::Private);
    Ok(list)
}

/// One resource.
pub(crate) async fn read(
    surface: &dyn Surface,
    session: &Session,
    uri: &str,
) -> Result<ReadResourceResponse, ErrorData> {
    if !has_resources(surface) {
        return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
    }
    let Some(reading) = surface.read(session, uri) else { return Err(no_resource(uri)) };
    let contents = reading.await.map_err(|error| refused(&error, Some(uri)))?;
    let mut result = ReadResourceResult::new(vec![contents]);
    // What stands in it changes with every write, and is for this caller alone.
    result.ttl_ms = Some(0);
    result.cache_scope = Some(CacheScope::Private);
    Ok(result.into())
}

/// The prompts.
pub(crate) fn prompts(
    surface: &dyn Surface,
    request: Option<PaginatedRequestParams>,
) -> Result<ListPromptsResult, ErrorData> {
    if surface.prompts().is_empty() {
        return Err(ErrorData::method_not_found::<ListPromptsRequestMethod>());
    }
    only_page(request)?;
    let mut list = ListPromptsResult::with_all_items(surface.prompts().to_vec());
    list.ttl_ms = Some(LISTS_TTL_MS);
    list.cache_scope = Some(CacheScope::Private);
    Ok(list)
}

/// One prompt, with its arguments filled in.
pub(crate) async fn prompt(
    surface: &dyn Surface,
    session: &Session,
    request: GetPromptRequestParams,
) -> Result<GetPromptResponse, ErrorData> {
    if surface.prompts().is_empty() {
        return Err(ErrorData::method_not_found::<GetPromptRequestMethod>());
    }
    let arguments = request.arguments.unwrap_or_default();
    let Some(getting) = surface.prompt(session, &request.name, arguments) else {
        let known: Vec<&str> = surface.prompts().iter().map(|prompt| prompt.name.as_str()).collect();
        let message = format!("unknown prompt \"{}\": there are {}", echo(&request.name), known.join(", "));
        return Err(ErrorData::invalid_params(message, None));
    };
    getting.await.map(Into::into).map_err(|error| refused(&error, None))
}

/// Values that an argument may be completed to.
pub(crate) async fn complete(
    surface: &dyn Surface,
    session: &Session,
    request: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    if !surface.has_completions() {
        return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
    }
    let known = request.context.and_then(|context| context.arguments).unwrap_or_default();
    let known: BTreeMap<String, String> = known.into_iter().collect();
    let argument = request.argument.name.as_str();
    let completing = Completing { of: &request.r#ref, argument, typed: &request.argument.value, known: &known };
    let Some(getting) = surface.complete(session, completing) else {
        let message = format!("nothing here has an argument \"{}\"", echo(argument));
        return Err(ErrorData::invalid_params(message, None));
    };
    getting.await.map(CompleteResult::new).map_err(|error| refused(&error, None))
}

/// Refuses a cursor: each list has one page.
pub(crate) fn only_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    if request.is_some_and(|request| request.cursor.is_some()) {
        return Err(ErrorData::invalid_params("this list has one page: no cursor was given out", None));
    }
    Ok(())
}

/// There is no resource of this address.
pub(crate) fn no_resource(uri: &str) -> ErrorData {
    let uri = echo(uri);
    ErrorData::resource_not_found(format!("no resource \"{uri}\""), Some(json!({ "uri": uri })))
}

/// An error of the engine, as the protocol has them: who reads it is a program, and the details are beside the message.
pub(crate) fn refused(error: &Error, uri: Option<&str>) -> ErrorData {
    let code = match error.code {
        Code::NotFound if uri.is_some() => ErrorCode::RESOURCE_NOT_FOUND,
        Code::NotFound | Code::Validation | Code::ProjectRequired => ErrorCode::INVALID_PARAMS,
        Code::Forbidden | Code::Conflict | Code::RuleBlocked => ErrorCode::INVALID_REQUEST,
        Code::RateLimited | Code::Unavailable => ErrorCode::INTERNAL_ERROR,
    };
    let mut data = json!({ "kind": error.kind, "code": error.code, "reason": error.reason });
    if let Some(uri) = uri {
        data["uri"] = json!(echo(uri));
    }
    if let Some(retry) = error.retry_after_ms {
        data["retryAfterMs"] = json!(retry);
    }
    ErrorData::new(code, error.message.clone(), Some(data))
}
