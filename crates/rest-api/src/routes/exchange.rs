//! Everything out and in, as lines of JSON: what `docket export` writes and `docket import` reads.

use axum::extract::State;
use axum::response::IntoResponse;
use docket_core::command::{Import, Imported};
use docket_core::engine::Command;
use docket_core::exchange::{Reader, Snapshot};
use docket_core::model::Slug;
use docket_core::{Error, Reason};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use tokio::sync::SemaphorePermit;
use utoipa::IntoParams;

use super::projects;
use crate::answer::{self, Answer, json};
use crate::app::Shared;
use crate::extract::{Idempotency, Lines, Query};
use crate::failure::Failure;
use crate::gate::Caller;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// This project alone; edges to others are left out.
    project: Option<Slug>,
}

/// Write all rows as lines of JSON
///
/// Sorted, without derived numbers, leases and credentials: what `docket export` writes.
#[utoipa::path(
    get, path = "/export", tag = "exchange", params(ExportQuery),
    responses((status = 200, description = "One row a line", content_type = "application/x-ndjson", body = String)),
)]
pub(crate) async fn export(State(shared): answer::State, caller: Caller, Query(query): Query<ExportQuery>) -> Answer {
    let _place = begin(&shared)?;
    let mut snapshot = Snapshot::take(&caller.engine, true).await?;
    if let Some(slug) = &query.project {
        let project = projects::find(&caller, slug).await?.id;
        snapshot.narrow(project);
    }
    let mut text = String::new();
    for row in snapshot.rows()? {
        text.push_str(&row.to_string());
        text.push('\n');
    }
    let headers =
        [(CONTENT_TYPE, "application/x-ndjson"), (CONTENT_DISPOSITION, "attachment; filename=\"docket.jsonl\"")];
    Ok((headers, text).into_response())
}

/// Where an import is sent to.
pub(crate) const IMPORT: &str = "/import";

/// What goes before the body of an import is read: whether the caller may import at all, and whether another is at it. Nothing is held
/// yet: a body that comes slowly, or never, is in nobody's way.
pub(crate) fn may_begin(shared: &Shared, caller: &Caller) -> Result<(), Failure> {
    caller.engine.may(Import::NAME, Import::NEEDS)?;
    if shared.exchange.available_permits() == 0 { Err(under_way()) } else { Ok(()) }
}

/// The place of the one that imports, once its body is here.
pub(crate) fn begin(shared: &Shared) -> Result<SemaphorePermit<'_>, Failure> {
    shared.exchange.try_acquire().map_err(|_| under_way())
}

fn under_way() -> Failure {
    Failure::shedding("another export or import is under way")
}

/// Take in lines of JSON
///
/// All of them or nothing; ids and keys stay as they were. Errors name the line.
#[utoipa::path(
    post, path = "/import", tag = "exchange",
    request_body(content = String, content_type = "application/x-ndjson", description = "What an export wrote", example = "{\"docket\":1}"),
    responses((status = 201, description = "How much was taken in", body = Imported)),
)]
pub(crate) async fn import(caller: Caller, Idempotency(request): Idempotency, Lines(bytes): Lines) -> Answer {
    let mut reader = Reader::default();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let number = at + 1;
        let line = std::str::from_utf8(line).map_err(|_| Error::validation(Reason::BadUtf8, "is not UTF-8 text"));
        let taken = line.and_then(|line| if line.trim().is_empty() { Ok(()) } else { reader.line(number, line) });
        taken.map_err(|error| at_line(Some(number), error))?;
    }
    let import = reader.take_import().map_err(|(line, error)| at_line(Some(line), error))?;
    let imported: Imported = match caller.engine.run(caller.call(request), import).await {
        Ok(imported) => imported,
        Err(error) => return Err(at_line(reader.line_of(&error), error).into()),
    };
    json(StatusCode::CREATED, &imported)
}

fn at_line(line: Option<usize>, error: Error) -> Error {
    let Some(line) = line else { return error };
    Error { message: format!("line {line}: {}", error.message), field: Some(format!("line {line}")), ..error }
}
