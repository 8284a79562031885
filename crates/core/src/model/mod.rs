//! The words of Docket as types. Values are parsed on the way in, so that inside the engine no text is blank, no name
//! malformed and no closed set a string.

mod actor;
mod api_key;
mod claim;
mod edge;
mod event;
mod id;
mod item;
mod note;
mod project;
mod role;
mod text;
mod time;

pub use actor::{ActorClaim, ActorKind, Attribution, DegradedMode, Verification, VerificationStatus};
pub use api_key::{ApiKey, Handle, KeySecret, SecretDigest, StoredKey};
pub use claim::{Claim, Fence, Ttl};
pub use edge::{Edge, EdgeEffect, EdgeKind};
pub use event::{Event, Verb};
pub use id::{ApiKeyId, EdgeId, EventId, Ids, ItemId, ItemRef, Key, NoteId, ProjectId, RequestId, UnitId};
pub use item::{Derived, Item, Priority};
pub use note::{Note, NoteHead};
pub use project::{KeyPrefix, Project, Slug};
pub use role::{Outcome, Role, Trigger};
pub use text::{Complexity, Name, Summary, Tag, Text, Title};
pub use time::Timestamp;
