//! Keys that callers are known by. A secret is made here, is in the answer that makes it and in no other, and is never
//! written down; the engine gets its hash.

use axum::response::Response;
use docket_core::access::Profile;
use docket_core::command::{CreateKey, KeySet, RevokeKey, RotateKey};
use docket_core::model::{ApiKey, ItemRef, KeySecret, Name, Slug};
use docket_core::{Code, Error, Kind, Reason};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Answer, json, ok};
use crate::extract::{Idempotency, Json, MaybeJson, Query, TextPath};
use crate::failure::Failure;
use crate::gate::Caller;

/// A key to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewKey {
    /// What to call it; the profile and a few digits where nothing is said.
    name: Option<Name>,
    /// How much its holder may do.
    profile: Profile,
    /// The projects it is for; all of them where none is named.
    #[serde(default)]
    projects: Vec<Slug>,
    /// The one item that its holder may change.
    item: Option<ItemRef>,
    /// How long it holds, from a minute to ten years; until it is revoked where nothing is said.
    #[schema(minimum = 60, maximum = 315_360_000)]
    lasts_seconds: Option<u32>,
}

/// How long a key holds from now on.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rotation {
    /// In seconds, from a minute to ten years; as before where nothing is said.
    #[schema(minimum = 60, maximum = 315_360_000)]
    lasts_seconds: Option<u32>,
}

/// A key with its secret, this once.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownKey {
    /// The key.
    key: ApiKey,
    /// What its holder sends after `Authorization: Bearer`. It is in no other answer.
    #[schema(example = "dkt_1a2b3c4d_…")]
    secret: String,
}

/// A key without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneKey {
    /// The key.
    key: ApiKey,
}

/// Keys, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ManyKeys {
    /// The keys.
    keys: Vec<ApiKey>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct KeysQuery {
    /// Also those that were revoked or have expired.
    #[serde(default)]
    all: bool,
}

/// What names a key in an address: its id, its beginning such as `dkt_1a2b3c4d`, or its name.
#[derive(Debug)]
pub(crate) struct KeyName(String);

impl std::str::FromStr for KeyName {
    type Err = docket_core::Invalid;

    fn from_str(text: &str) -> Result<Self, docket_core::Invalid> {
        Name::parse(text).map(|name| Self(name.as_str().to_owned()))
    }
}

/// List keys
///
/// For maintainers of everything. Secrets are not kept, so none is shown.
#[utoipa::path(
    get, path = "/keys", tag = "keys", params(KeysQuery),
    responses((status = 200, description = "Those that hold, or all", body = ManyKeys)),
)]
pub(crate) async fn list(caller: Caller, Query(query): Query<KeysQuery>) -> Answer {
    let (now, keys) = caller.engine.keys().await?;
    ok(&ManyKeys { keys: keys.into_iter().filter(|key| query.all || key.check(now).is_ok()).collect() })
}

/// Make a key, and show its secret once
///
/// For maintainers of everything. Sent again under the same `Idempotency-Key` it makes no second key and is refused: the secret
/// was in the first answer, and nobody knows it here.
#[utoipa::path(
    post, path = "/keys", tag = "keys",
    request_body(content = NewKey, example = json!({"name": "ci", "profile": "viewer", "lastsSeconds": 86400})),
    responses((status = 201, description = "The key with its secret", body = ShownKey)),
)]
pub(crate) async fn create(caller: Caller, Idempotency(request): Idempotency, Json(body): Json<NewKey>) -> Answer {
    let secret = new_secret()?;
    let create = CreateKey {
        handle: secret.handle().clone(),
        digest: secret.digest(),
        name: body.name,
        profile: body.profile,
        projects: body.projects,
        item: body.item,
        lasts: body.lasts_seconds,
    };
    shown(StatusCode::CREATED, caller.engine.run(caller.call(request), create).await?, &secret)
}

/// Give a key a new secret, and show it once
///
/// The old secret ends at once.
#[utoipa::path(
    post, path = "/keys/{key}/rotate", tag = "keys",
    params(("key" = Name, Path, description = "The key: its id, its beginning or its name")),
    request_body(content = Option<Rotation>, example = json!({"lastsSeconds": 86400})),
    responses((status = 200, description = "The key with its new secret", body = ShownKey)),
)]
pub(crate) async fn rotate(
    caller: Caller,
    TextPath(KeyName(key)): TextPath<KeyName>,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<Rotation>,
) -> Answer {
    let secret = new_secret()?;
    let (handle, digest) = (secret.handle().clone(), secret.digest());
    let rotate = RotateKey { key, handle, digest, lasts: body.lasts_seconds };
    shown(StatusCode::OK, caller.engine.run(caller.call(request), rotate).await?, &secret)
}

/// End a key, at once
#[utoipa::path(
    delete, path = "/keys/{key}", tag = "keys",
    params(("key" = Name, Path, description = "The key: its id, its beginning or its name")),
    responses((status = 200, description = "The key, revoked", body = OneKey)),
)]
pub(crate) async fn revoke(
    caller: Caller,
    TextPath(KeyName(key)): TextPath<KeyName>,
    Idempotency(request): Idempotency,
) -> Answer {
    let KeySet { key } = caller.engine.run(caller.call(request), RevokeKey { key }).await?;
    ok(&OneKey { key })
}

/// A request that is sent again is answered by what was done before, and its secret is another than the one just made.
fn shown(status: StatusCode, set: KeySet, secret: &KeySecret) -> Result<Response, Failure> {
    let KeySet { key } = set;
    if key.handle != *secret.handle() {
        let message = format!(
            "this request was answered before, with the key {}; its secret was shown then: rotate the key for another",
            key.handle
        );
        return Err(Error::conflict(Reason::RequestIdReused, message).into());
    }
    json(status, &ShownKey { key, secret: secret.reveal() })
}

fn new_secret() -> Result<KeySecret, Error> {
    let mut random = [0; 36];
    getrandom::fill(&mut random).map_err(|error| {
        tracing::error!(%error, "the system gives no randomness");
        Error::new(Kind::Transient, Code::Unavailable, Reason::StoreFailed, "no randomness for a secret")
    })?;
    Ok(KeySecret::new(random))
}
