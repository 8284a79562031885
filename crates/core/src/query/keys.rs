//! Keys: who a caller is that sends one, and which there are.

use crate::access::{Needs, Profile, Reach};
use crate::engine::Engine;
use crate::error::{Code, Error, Kind, Reason};
use crate::limits;
use crate::model::{ApiKey, ApiKeyId, KeySecret, Timestamp};
use crate::store::{ChangeSet, KeyReach, Scope, Slice, Step, Unit};

impl Engine {
    /// The key that a caller sent, if it holds. An unknown key and a wrong secret are answered the same; that a key was
    /// revoked or has expired is told only to whoever knows its secret.
    pub async fn authenticate(&self, secret: &KeySecret) -> Result<ApiKey, Error> {
        let Recognised { key, is_noted, .. } = self.recognise(secret).await?;
        if !is_noted {
            self.note_use(key.id).await;
        }
        Ok(key)
    }

    /// The same without a write.
    pub async fn recognise(&self, secret: &KeySecret) -> Result<Recognised, Error> {
        let scope = Scope { keys: KeyReach::Handle(secret.handle().clone()), ..Scope::default() };
        let seen = self.store().view(&scope).await?;
        let digest = secret.digest();
        let stored = seen.keys.values().find(|stored| stored.digest.matches(&digest));
        let key = stored.map(|stored| stored.key.clone()).ok_or_else(unknown_key)?;
        key.check(seen.now)?;
        let age = |last: Timestamp| seen.now.as_millis() - last.as_millis();
        let is_noted = key.last_used_at.is_some_and(|last| age(last) < limits::KEY_TOUCH_MS);
        Ok(Recognised { key, now: seen.now, is_noted })
    }

    /// All keys, the newest first, and the database's time.
    pub async fn keys(&self) -> Result<(Timestamp, Vec<ApiKey>), Error> {
        self.may("list-keys", Needs::new(Profile::Maintainer, Reach::Everything))?;
        let scope = Scope { keys: KeyReach::All, ..Scope::default() };
        let seen = self.store().view(&scope).await?;
        Ok((seen.now, seen.keys.into_values().rev().map(|stored| stored.key).collect()))
    }

    /// Whether any key holds: a server that others can reach refuses to start without one.
    pub async fn has_keys(&self) -> Result<bool, Error> {
        let scope = Scope { keys: KeyReach::All, ..Scope::default() };
        let seen = self.store().view(&scope).await?;
        Ok(seen.keys.values().any(|stored| stored.key.check(seen.now).is_ok()))
    }

    /// Whether there never was a key. One that was revoked or has expired counts: whoever takes a key away, or lets it run out,
    /// does not mean to let everybody in.
    pub async fn is_keyless(&self) -> Result<bool, Error> {
        let scope = Scope { keys: KeyReach::Any, ..Scope::default() };
        let seen = self.store().view(&scope).await?;
        Ok(seen.keys.is_empty())
    }

    /// A number that is another one as soon as it is known that keys may have changed. Asks the database nothing.
    pub fn keys_mark(&self) -> Option<u64> {
        self.store().keys_mark()
    }

    /// Notes that a key was used. That it cannot be noted keeps nobody out.
    pub async fn note_use(&self, key: ApiKeyId) {
        if let Err(error) = self.store().execute(Box::new(Touch { key })).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "the use of a key was not noted");
        }
    }
}

/// A key that holds.
#[derive(Clone, Debug)]
pub struct Recognised {
    /// The key.
    pub key: ApiKey,
    /// When it was looked at, by the database's clock.
    pub now: Timestamp,
    /// Whether it was noted not long ago that it was used.
    pub is_noted: bool,
}

/// The answer to a key that is none of ours.
pub(crate) fn unknown_key() -> Error {
    Error::new(Kind::Permanent, Code::Forbidden, Reason::BadCredential, "this key is not known here")
}

/// Notes that a key was used, unless somebody else just did.
struct Touch {
    key: ApiKeyId,
}

impl Unit for Touch {
    fn scope(&self) -> Scope {
        Scope { keys: KeyReach::Ids(vec![self.key]), ..Scope::default() }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let last = seen.keys.get(&self.key).map(|stored| stored.key.last_used_at);
        let fresh = |last: Timestamp| seen.now.as_millis() - last.as_millis() < limits::KEY_TOUCH_MS;
        match last {
            None => Step::Nothing,
            Some(Some(last)) if fresh(last) => Step::Nothing,
            Some(_) => {
                Step::Commit(Box::new(ChangeSet { keys_used: vec![(self.key, seen.now)], ..ChangeSet::default() }))
            }
        }
    }
}
