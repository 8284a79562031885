//! Knowledge: entries, what answers a question, and which items made or used them.

use axum::response::IntoResponse;
use docket_core::command::{
    AddEntries, CiteEntries, EditEntry, EntriesAdded, EntriesCited, EntryEdited, Learning, ReadEntry, RemoveEntries,
    ReviewEntries, ReviewedEntry,
};
use docket_core::model::{EntryId, ItemId, ItemRef, Slug, Source, Tag, Text, Title};
use docket_core::query::{EntryView, KnowledgeFound, KnowledgeQuery, ListedEntry, Reference};
use docket_core::store::{Around, EntryFilter, ProjectRef};
use docket_core::{Error, Reason};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, json, ok, page, with_version};
use crate::app::Shared;
use crate::extract::{Expected, Idempotency, ItemPath, Json, NotePath, Query, TextPath};
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;
use axum::extract::State;

/// How many entries a search answers where it is not said.
const FOUND_DEFAULT: usize = 10;

/// Entries to be added, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewEntries {
    /// The project they belong to; that of the item where one is named.
    project: Option<Slug>,
    /// The item they were learned from.
    item: Option<ItemRef>,
    /// What was learned, at most 200.
    entries: Vec<Learning>,
}

/// What shall change of an entry; what is not named stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EntryPatch {
    /// What it is about.
    title: Option<Title>,
    /// What was learned.
    body: Option<Text>,
    /// Words to find it by, in place of all it has.
    tags: Option<Vec<Tag>>,
}

/// A person's word for an entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EntryReview {
    /// Whether it is right as it was read.
    reviewed: bool,
    /// The version that was read; or say it by If-Match. A word for an entry needs it, taking one back does not.
    version: Option<u64>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EntriesQuery {
    /// In this project; in all that may be seen where none is named.
    project: Option<Slug>,
    /// With one of these tags, separated by commas.
    #[param(style = Form, explode = false)]
    tags: Vec<Tag>,
    /// From this source.
    source: Option<Source>,
    /// Reviewed by a person, or not.
    reviewed: Option<bool>,
    /// Linked with this item.
    item: Option<ItemRef>,
    /// How many, from 1 to 200; 50 where it is not said. A search answers 1 to 50, and 10 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`, with the same filter.
    cursor: Option<String>,
    /// The question.
    #[param(ignore)]
    q: Option<String>,
    /// How well an entry must answer, from 0 to 1.
    #[param(ignore)]
    min_score: Option<Score>,
}

/// A number from 0 to 1, as an address spells it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Score(f64);

impl TryFrom<String> for Score {
    type Error = docket_core::Invalid;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().ok().filter(|score| (0.0..=1.0).contains(score)).map(Self).ok_or_else(|| {
            docket_core::Invalid::new(
                Reason::BadValue,
                format!("must be from 0 to 1, not \"{}\"", docket_core::echo(&text)),
            )
        })
    }
}

/// A page of entries.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entries {
    /// The entries, the newest first; a long text is cut, and `truncated` says so.
    entries: Vec<ListedEntry>,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// What bears on an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Digest {
    /// At most three entries, the best first.
    references: Vec<Reference>,
}

/// Add entries to the knowledge
#[utoipa::path(
    post, path = "/knowledge", tag = "knowledge",
    request_body(content = NewEntries, example = json!({
        "entries": [{"title": "The linker needs gcc", "body": "aws-lc-rs builds with gcc alone.", "tags": ["build"]}],
    })),
    responses((status = 201, description = "Their ids, in order", body = EntriesAdded)),
)]
pub(crate) async fn add(
    State(shared): answer::State,
    caller: Caller,
    Idempotency(request): Idempotency,
    Json(body): Json<NewEntries>,
) -> Answer {
    let project = match (&body.project, &body.item) {
        (None, Some(_)) => ProjectRef::Any,
        (named, _) => shared.project(&caller, named.as_ref()).await?,
    };
    let call = caller.call(request);
    let authority = caller.engine.authority_of(&call);
    let add = AddEntries { project, entries: body.entries, item: body.item, authority };
    json(StatusCode::CREATED, &caller.engine.run(call, add).await?)
}

/// List the knowledge
#[utoipa::path(
    get, path = "/knowledge", tag = "knowledge", params(EntriesQuery),
    responses((status = 200, description = "The newest first", body = Entries)),
)]
pub(crate) async fn list(State(shared): answer::State, caller: Caller, Query(query): Query<EntriesQuery>) -> Answer {
    if query.q.is_some() || query.min_score.is_some() {
        let message = "q and minScore belong to a search: see /knowledge/search";
        return Err(Error::validation(Reason::UnknownField, message).at("q").into());
    }
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let cursor = query.cursor.clone();
    let filter = filter(&shared, &caller, query).await?;
    let found = caller.engine.list_knowledge(&filter, limit, cursor.as_deref()).await?;
    let entries = found.entries.into_iter().map(ListedEntry::from).collect();
    ok(&Entries { entries, next_cursor: found.next })
}

/// Find what answers a question
///
/// By words, and by meaning where the server has an embedder: `mode` says which halves took part, `degraded` why one did not.
/// `score` is the weight of the question's words that an entry has, or how near it lies by meaning, whichever is more.
#[utoipa::path(
    get, path = "/knowledge/search", tag = "knowledge",
    params(
        ("q" = String, Query, description = "The question", example = "linker"),
        ("minScore" = Option<f64>, Query, description = "How well an entry must answer, from 0 to 1"),
        EntriesQuery,
    ),
    responses((status = 200, description = "The best first", body = KnowledgeFound)),
)]
pub(crate) async fn search(State(shared): answer::State, caller: Caller, Query(query): Query<EntriesQuery>) -> Answer {
    if query.cursor.is_some() {
        return Err(Error::validation(Reason::UnknownField, "a search has one page: ask for more").at("cursor").into());
    }
    let text = query.q.clone().ok_or_else(|| Error::validation(Reason::MissingField, "q is required").at("q"))?;
    let limit = page(query.limit, FOUND_DEFAULT)?;
    let minimum = query.min_score.map_or(0.0, |score| score.0);
    let filter = filter(&shared, &caller, query).await?;
    ok(&caller.engine.search_knowledge(&KnowledgeQuery { filter, query: text, minimum, limit }).await?)
}

/// Show an entry
#[utoipa::path(
    get, path = "/knowledge/{entry}", tag = "knowledge",
    params(("entry" = EntryId, Path, description = "The entry")),
    responses((status = 200, description = "The entry with its newest links", body = EntryView)),
)]
pub(crate) async fn show(caller: Caller, TextPath(entry): TextPath<EntryId>) -> Answer {
    let view = caller.engine.entry(entry).await?;
    Ok(with_version(ok(&view)?, view.entry.version))
}

/// Change an entry
///
/// What an agent changes is an agent's, and unreviewed again; what a person changes is reviewed by that person, if it was
/// reviewed before.
#[utoipa::path(
    patch, path = "/knowledge/{entry}", tag = "knowledge",
    params(
        ("entry" = EntryId, Path, description = "The entry"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the entry"),
    ),
    request_body(content = EntryPatch, example = json!({"tags": ["build", "linker"]})),
    responses((status = 200, description = "The entry", body = EntryEdited)),
)]
pub(crate) async fn change(
    caller: Caller,
    TextPath(entry): TextPath<EntryId>,
    expected: Expected,
    Idempotency(request): Idempotency,
    Json(body): Json<EntryPatch>,
) -> Answer {
    let call = caller.call(request);
    let authority = caller.engine.authority_of(&call);
    let EntryPatch { title, body, tags } = body;
    let edit = EditEntry { entry, title, body, tags, expected_version: expected.0, authority };
    let edited = caller.engine.run(call, edit).await.map_err(|error| expected.failed(error))?;
    Ok(with_version(ok(&edited)?, edited.entry.version))
}

/// Remove an entry
#[utoipa::path(
    delete, path = "/knowledge/{entry}", tag = "knowledge",
    params(("entry" = EntryId, Path, description = "The entry")),
    responses((status = 204, description = "Gone, with its links")),
)]
pub(crate) async fn remove(
    caller: Caller,
    TextPath(entry): TextPath<EntryId>,
    Idempotency(request): Idempotency,
) -> Answer {
    caller.engine.run(caller.call(request), RemoveEntries { entries: vec![entry] }).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Say that an entry is right, or not
///
/// For people alone, and for what was read: if the entry has changed since, nothing is written.
#[utoipa::path(
    post, path = "/knowledge/{entry}/review", tag = "knowledge",
    params(
        ("entry" = EntryId, Path, description = "The entry"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the entry"),
    ),
    request_body(content = EntryReview, example = json!({"reviewed": true, "version": 1})),
    responses((status = 200, description = "How the entry stands", body = ReviewedEntry)),
)]
pub(crate) async fn review(
    caller: Caller,
    TextPath(entry): TextPath<EntryId>,
    expected: Expected,
    Idempotency(request): Idempotency,
    Json(body): Json<EntryReview>,
) -> Answer {
    let call = caller.call(request);
    let authority = caller.engine.authority_of(&call);
    if let (Some(said), Some(header)) = (body.version, expected.0)
        && said != header
    {
        return Err(Error::validation(Reason::BadValue, "version and If-Match differ").at("version").into());
    }
    let entries = vec![ReadEntry { entry, version: expected.0.or(body.version) }];
    let review = ReviewEntries { entries, reviewed: body.reviewed, authority };
    let reviewed = caller.engine.run(call, review).await.map_err(|error| expected.failed(error))?;
    let done = reviewed.entries.first().ok_or_else(|| Error::conflict(Reason::StoreFailed, "nothing was decided"))?;
    Ok(with_version(ok(done)?, done.version))
}

/// Show what bears on an item
///
/// At most three entries of its project that score 0.5 or more; none where a search fails.
#[utoipa::path(
    get, path = "/items/{id}/knowledge", tag = "knowledge",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "The best first", body = Digest)),
)]
pub(crate) async fn digest(caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let seen = caller.engine.show(&ProjectRef::Any, std::slice::from_ref(&item), Around::default()).await?;
    ok(&Digest { references: caller.engine.digest(seen.resolve(&item)?).await })
}

/// Say that an entry helped with an item
#[utoipa::path(
    put, path = "/items/{id}/knowledge/{key}", tag = "knowledge",
    params(("id" = ItemRef, Path, description = "The item"), ("key" = EntryId, Path, description = "The entry")),
    responses((status = 200, description = "Whether the link is new", body = EntriesCited)),
)]
pub(crate) async fn cite(caller: Caller, path: NotePath, Idempotency(request): Idempotency) -> Answer {
    tie(&caller, path, request, true).await
}

/// Take back that an entry helped with an item
#[utoipa::path(
    delete, path = "/items/{id}/knowledge/{key}", tag = "knowledge",
    params(("id" = ItemRef, Path, description = "The item"), ("key" = EntryId, Path, description = "The entry")),
    responses((status = 200, description = "Whether there was a link", body = EntriesCited)),
)]
pub(crate) async fn uncite(caller: Caller, path: NotePath, Idempotency(request): Idempotency) -> Answer {
    tie(&caller, path, request, false).await
}

async fn tie(
    caller: &Caller,
    NotePath(item, entry): NotePath,
    request: Option<docket_core::model::RequestId>,
    used: bool,
) -> Answer {
    let entry: EntryId =
        entry.as_str().parse().map_err(|invalid: docket_core::Invalid| Error::from(invalid.at("entry")))?;
    let cite = CiteEntries { project: ProjectRef::Any, item, entries: vec![entry], used };
    ok(&caller.engine.run(caller.call(request), cite).await?)
}

async fn filter(shared: &Shared, caller: &Caller, query: EntriesQuery) -> Result<EntryFilter, Error> {
    let item: Option<ItemId> = match &query.item {
        None => None,
        Some(item) => {
            let seen = caller.engine.show(&ProjectRef::Any, std::slice::from_ref(item), Around::default()).await?;
            Some(seen.resolve(item).map_err(|error| error.at("item"))?.id)
        }
    };
    Ok(EntryFilter {
        project: shared.scope(caller, query.project.as_ref()).await?,
        tags: query.tags,
        source: query.source,
        reviewed: query.reviewed,
        item,
        ..EntryFilter::default()
    })
}
