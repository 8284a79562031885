//! Makes, revokes and rotates the keys that callers are known by. The secret itself never gets here: whoever shows it to
//! its owner hands over its hash.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason, echo};
use crate::limits;
use crate::model::{
    ApiKey, ApiKeyId, Handle, ItemRef, Name, ProjectId, SecretDigest, Slug, StoredKey, Timestamp, Verb,
};
use crate::store::{ChangeSet, KeyReach, Scope, Slice};

/// Makes a key.
#[derive(Clone, Debug, Serialize)]
pub struct CreateKey {
    /// How its secret begins; chance makes it, so it is no part of the request.
    #[serde(skip)]
    pub handle: Handle,
    /// The hash of its secret.
    #[serde(skip)]
    pub digest: SecretDigest,
    /// What people call it; by its profile and the beginning of its secret where nothing is said.
    pub name: Option<Name>,
    /// How much its holder may do.
    pub profile: Profile,
    /// In these projects; in all when empty.
    pub projects: Vec<Slug>,
    /// On this item alone, as far as writing goes.
    pub item: Option<ItemRef>,
    /// How long it holds, in seconds; until it is revoked where nothing is said.
    pub lasts: Option<u32>,
}

/// Ends a key.
#[derive(Clone, Debug, Serialize)]
pub struct RevokeKey {
    /// The key: its id, its handle or its name.
    pub key: String,
}

/// Gives a key another secret; the old one ends at once.
#[derive(Clone, Debug, Serialize)]
pub struct RotateKey {
    /// The key: its id, its handle or its name.
    pub key: String,
    /// How the new secret begins.
    #[serde(skip)]
    pub handle: Handle,
    /// The hash of the new secret.
    #[serde(skip)]
    pub digest: SecretDigest,
    /// How long it holds from now, in seconds; as before where nothing is said.
    pub lasts: Option<u32>,
}

/// The key as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySet {
    /// The key.
    pub key: ApiKey,
}

impl Command for CreateKey {
    type Output = KeySet;
    const NAME: &'static str = "create-key";
    const NEEDS: Needs = Needs::new(Profile::Maintainer, Reach::Everything);

    fn scope(&self, _call: &Call) -> Scope {
        let items = self.item.iter().cloned().collect();
        Scope { every_project: true, items, keys: KeyReach::All, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<KeySet>, Error> {
        let live = || seen.keys.values().filter(|stored| stored.key.check(seen.now).is_ok());
        if live().count() >= limits::KEYS {
            return Err(Error::validation(
                Reason::TooMany,
                format!("there may be {} keys at a time: revoke some", limits::KEYS),
            ));
        }
        let name = self.called()?;
        if live().any(|stored| stored.key.name == name) {
            let message = format!("there is a key \"{name}\" already: choose another name, or rotate it");
            return Err(Error::conflict(Reason::Duplicate, message).at("name"));
        }
        check_handle(seen, &self.handle)?;
        let mut projects = self.projects(seen)?;
        let item = match &self.item {
            None => None,
            Some(item) => {
                let item = seen.resolve(item).map_err(|error| error.at("item"))?;
                if projects.as_ref().is_some_and(|projects| !projects.contains(&item.project)) {
                    let message = "the item is in none of the projects named";
                    return Err(Error::validation(Reason::OtherProject, message).at("item"));
                }
                projects = Some(BTreeSet::from([item.project]));
                Some(item.id)
            }
        };
        let mut draft = Draft::new(call, seen);
        let key = ApiKey {
            id: ApiKeyId::from_uuid(draft.new_uuid()),
            handle: self.handle.clone(),
            name,
            profile: self.profile,
            projects,
            item,
            created_at: seen.now,
            expires_at: end(seen.now, self.lasts)?,
            revoked_at: None,
            last_used_at: None,
        };
        Ok(set(draft, StoredKey { key, digest: self.digest }))
    }
}

impl CreateKey {
    /// Its name. One that chance makes is made here: a request that is sent again would be another by it.
    fn called(&self) -> Result<Name, Error> {
        let usual = || Name::parse(&format!("{}-{}", self.profile, self.handle.as_str()));
        Ok(self.name.clone().map_or_else(usual, Ok)?)
    }

    fn projects(&self, seen: &Slice) -> Result<Option<BTreeSet<ProjectId>>, Error> {
        let id = |slug: &Slug| {
            let known = seen.projects.values().find(|project| project.slug == *slug).map(|project| project.id);
            known.ok_or_else(|| Error::not_found(format!("no project \"{slug}\"")).at("project"))
        };
        let ids = self.projects.iter().map(id).collect::<Result<BTreeSet<_>, _>>()?;
        Ok((!ids.is_empty()).then_some(ids))
    }
}

impl Command for RevokeKey {
    type Output = KeySet;
    const NAME: &'static str = "revoke-key";
    const NEEDS: Needs = Needs::new(Profile::Maintainer, Reach::Everything);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { keys: KeyReach::All, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<KeySet>, Error> {
        let stored = named(seen, &self.key)?;
        if stored.key.revoked_at.is_some() {
            return Ok(Decision::done(ChangeSet::default(), KeySet { key: stored.key.clone() }));
        }
        let key = ApiKey { revoked_at: Some(seen.now), ..stored.key.clone() };
        Ok(set(Draft::new(call, seen), StoredKey { key, digest: stored.digest }))
    }
}

impl Command for RotateKey {
    type Output = KeySet;
    const NAME: &'static str = "rotate-key";
    const NEEDS: Needs = Needs::new(Profile::Maintainer, Reach::Everything);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { keys: KeyReach::All, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<KeySet>, Error> {
        let stored = named(seen, &self.key)?;
        if stored.key.revoked_at.is_some() {
            let message = format!("the key \"{}\" was revoked: make a new one", stored.key.name);
            return Err(Error::conflict(Reason::KeyRevoked, message));
        }
        check_handle(seen, &self.handle)?;
        let expires_at = if self.lasts.is_some() { end(seen.now, self.lasts)? } else { stored.key.expires_at };
        let key = ApiKey { handle: self.handle.clone(), expires_at, ..stored.key.clone() };
        Ok(set(Draft::new(call, seen), StoredKey { key, digest: self.digest }))
    }
}

/// One key and the record of it. The event holds all of the key but its hash.
fn set(mut draft: Draft<'_>, stored: StoredKey) -> Decision<KeySet> {
    let key = stored.key.clone();
    let data = serde_json::to_value(&key).unwrap_or_default();
    // Keys are the whole database's: their events are of no project.
    draft.push_event(Verb::KeySet, ProjectId::from_uuid(uuid::Uuid::nil()), None, None, None, data);
    let changes = ChangeSet { keys: vec![stored], ..draft.finish() };
    Decision::done(changes, KeySet { key })
}

/// The key that is meant: by its id, its handle, or its name, where one that holds comes before those that do not.
fn named<'s>(seen: &'s Slice, text: &str) -> Result<&'s StoredKey, Error> {
    let exact = seen.keys.values().find(|stored| {
        stored.key.id.to_string() == text || stored.key.handle.as_str() == text || stored.key.handle.to_string() == text
    });
    let mut by_name: Vec<&StoredKey> = seen.keys.values().filter(|stored| stored.key.name.as_str() == text).collect();
    by_name.sort_by_key(|stored| (stored.key.check(seen.now).is_err(), std::cmp::Reverse(stored.key.created_at)));
    exact.or(by_name.first().copied()).ok_or_else(|| Error::not_found(format!("no key \"{}\"", echo(text))))
}

/// Chance made the handle; once in a very long time it is taken.
fn check_handle(seen: &Slice, handle: &Handle) -> Result<(), Error> {
    if seen.keys.values().any(|stored| stored.key.handle == *handle) {
        return Err(Error::conflict(Reason::Duplicate, "this beginning of a key is taken: try again"));
    }
    Ok(())
}

fn end(now: Timestamp, lasts: Option<u32>) -> Result<Option<Timestamp>, Error> {
    let Some(lasts) = lasts else { return Ok(None) };
    if !limits::KEY_SECONDS.contains(&lasts) {
        return Err(Error::validation(Reason::BadValue, "a key may last from 1 minute to 10 years").at("expires"));
    }
    Ok(Some(now.plus_seconds(lasts)))
}
