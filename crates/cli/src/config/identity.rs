//! How callers and actors are known: settings that both files spell alike, and limits on how often they may call.

use std::path::Path;
use std::time::Duration;

use docket_core::limits::Lowered;
use docket_identity::{Algorithm, ClaimNames, JwksSettings, KEYS_MAX_AGE, Rate, TokenSettings};

use super::node::{ConfigError, Field, Settings};
use super::{Configuration, POLICIES};

/// `[identity]` of `docket.toml`.
pub(super) fn identity(field: &Field<'_>, folder: &Path, config: &mut Configuration) -> Result<(), ConfigError> {
    let mut settings = field.settings()?;
    if let Some(field) = settings.get("degraded_mode_policy") {
        config.identity.policy = Some(field.one_of(&POLICIES)?);
    }
    if let Some(field) = settings.get("require_actor") {
        config.identity.require_actor = Some(field.flag()?);
    }
    if let Some(field) = settings.get("proofs") {
        let mut inner = field.settings()?;
        config.identity.proofs = Some(keys(&field, &mut inner, folder)?);
        inner.finish()?;
    }
    if let Some(field) = settings.get("tokens") {
        config.identity.tokens = Some(tokens(&field, folder)?);
    }
    settings.finish()
}

/// `[limits]` of `docket.toml`.
pub(super) fn limits(field: &Field<'_>, config: &mut Configuration) -> Result<(), ConfigError> {
    let mut settings = field.settings()?;
    if let Some(field) = settings.get("knowledge_stored") {
        config.knowledge_stored = Some(within(&field, 0, u32::MAX)?.into());
    }
    config.limits = Some(lowered(&mut settings)?);
    let (burst, per_second) = (settings.get("burst"), settings.get("per_second"));
    if burst.is_some() || per_second.is_some() {
        let mut rate = Rate { burst: 200, per_second: 50.0 };
        if let Some(field) = burst {
            rate.burst = within(&field, 1, 1_000_000)?;
        }
        if let Some(field) = per_second {
            rate.per_second = f64::from(within(&field, 1, 1_000_000)?);
        }
        config.rate = Some(rate);
    }
    settings.finish()
}

/// Limits of texts and calls, each at most what it is where nothing is said.
fn lowered(settings: &mut Settings<'_>) -> Result<Lowered, ConfigError> {
    let mut limits = Lowered::NOT;
    for (name, limit) in [
        ("title_bytes", &mut limits.title_bytes),
        ("text_bytes", &mut limits.text_bytes),
        ("batch", &mut limits.batch),
        ("tags", &mut limits.tags),
        ("page", &mut limits.page),
    ] {
        if let Some(field) = settings.get(name) {
            *limit = lower(&field, u32::try_from(*limit).unwrap_or(u32::MAX))? as usize;
        }
    }
    if let Some(field) = settings.get("lease_seconds") {
        limits.lease_seconds = lower(&field, limits.lease_seconds)?;
    }
    if let Some(field) = settings.get("wait_ms") {
        limits.wait_ms = lower(&field, u32::try_from(limits.wait_ms).unwrap_or(u32::MAX))?.into();
    }
    Ok(limits)
}

/// A number that may be lower than the limit of Docket's, and not higher.
fn lower(field: &Field<'_>, most: u32) -> Result<u32, ConfigError> {
    let number: u32 = field.number()?;
    if number > most {
        return Err(field.error(format!("may be lowered and not raised: it must be from 1 to {most}")));
    }
    within(field, 1, most)
}

/// Where keys come from and what tokens signed with them must say. The caller finishes the section.
pub(super) fn keys(field: &Field<'_>, settings: &mut Settings<'_>, folder: &Path) -> Result<JwksSettings, ConfigError> {
    let mut found = JwksSettings::default();
    let text = |field: Field<'_>| field.text().map(str::to_owned);
    found.oidc_discovery = settings.get_set("oidc_discovery").map(|field| address(&field)).transpose()?;
    found.jwks_uri = settings.get_set("jwks_uri").map(|field| address(&field)).transpose()?;
    found.jwks_path = settings.get_set("jwks_path").map(text).transpose()?.map(|path| folder.join(path));
    found.issuer = settings.get_set("issuer").map(text).transpose()?;
    found.audience = settings.get_set("audience").map(text).transpose()?;
    if let Some(field) = settings.get_set("algorithms") {
        let one = |field: Field<'_>| field.text()?.parse::<Algorithm>().map_err(|message| field.error(message));
        found.algorithms = field.list()?.into_iter().map(one).collect::<Result<_, _>>()?;
        if found.algorithms.is_empty() {
            return Err(field.error("must name at least one algorithm"));
        }
    }
    if let Some(field) = settings.get_set("cache_ttl_seconds") {
        found.cache_ttl = Duration::from_secs(within(&field, 1, 86_400)?.into());
    }
    if let Some(field) = settings.get_set("max_age_seconds") {
        let most = u32::try_from(KEYS_MAX_AGE.as_secs()).unwrap_or(u32::MAX);
        found.max_age = Duration::from_secs(within(&field, 1, most)?.into());
    }
    if let Some(field) = settings.get_set("stale_on_error") {
        found.stale_on_error = field.flag()?;
    }
    if let Some(field) = settings.get_set("require_sub_match") {
        found.require_sub_match = field.flag()?;
    }
    if found.oidc_discovery.is_none() && found.jwks_uri.is_none() && found.jwks_path.is_none() {
        return Err(field.error("keys are needed: set oidc_discovery, jwks_uri or jwks_path"));
    }
    Ok(found)
}

fn tokens(field: &Field<'_>, folder: &Path) -> Result<TokenSettings, ConfigError> {
    let mut settings = field.settings()?;
    let keys = keys(field, &mut settings, folder)?;
    if keys.audience.is_none() || (keys.issuer.is_none() && keys.oidc_discovery.is_none()) {
        return Err(field.error("bearer tokens need an audience and an issuer"));
    }
    let mut claims = ClaimNames::default();
    for (key, claim) in [
        ("principal_claim", &mut claims.principal),
        ("profile_claim", &mut claims.profile),
        ("projects_claim", &mut claims.projects),
        ("item_claim", &mut claims.item),
    ] {
        if let Some(field) = settings.get(key) {
            field.text()?.clone_into(claim);
        }
    }
    let all_projects = settings.get("all_projects").map(|field| field.flag()).transpose()?.unwrap_or(false);
    settings.finish()?;
    Ok(TokenSettings { keys, claims, all_projects })
}

/// An address that keys are fetched from.
fn address(field: &Field<'_>) -> Result<String, ConfigError> {
    let text = field.text()?;
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Err(field.error("must be an https:// address, or an http:// one where nobody else listens"));
    }
    Ok(text.to_owned())
}

fn within(field: &Field<'_>, least: u32, most: u32) -> Result<u32, ConfigError> {
    let number: u32 = field.number()?;
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(field.error(format!("must be from {least} to {most}")))
    }
}
