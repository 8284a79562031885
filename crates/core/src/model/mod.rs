//! The words of Docket as types. Values are parsed on the way in, so that inside the engine no text is blank, no name
//! malformed and no closed set a string.

mod actor;
mod api_key;
mod brief;
mod check;
mod claim;
mod edge;
mod event;
mod id;
mod item;
mod knowledge;
mod note;
mod project;
mod role;
mod run;
mod session;
mod talk;
mod text;
mod time;

pub use actor::{ActorClaim, ActorKind, Attribution, DegradedMode, Verdict, Verification, VerificationStatus};
pub use api_key::{ApiKey, Handle, KeySecret, SecretDigest, StoredKey};
pub use brief::{About, Authority, Brief, Criterion, CriterionId, Evidence, Sections, Standing};
pub use check::{
    Approval, Check, CheckKind, CheckResult, CheckStanding, Definition, Folder, Repository, Tree, VerificationKind,
};
pub use claim::{Claim, Fence, Ttl};
pub use edge::{Edge, EdgeEffect, EdgeKind};
pub use event::{Event, Verb};
pub use id::{
    ApiKeyId, CommentId, EdgeId, EntryId, EventId, Ids, ItemId, ItemRef, Key, LinkId, NoteId, ProjectId, QuestionId,
    RequestId, RunId, SessionId, UnitId,
};
pub use item::{Derived, Inbox, Item, Priority};
pub use knowledge::{Entry, EntryLink, EntryTie, Review, Source};
pub use note::{Note, NoteHead};
pub use project::{KeyPrefix, Project, Slug};
pub use role::{Outcome, Role, Trigger};
pub use run::{Declined, Run, RunEnd, RunState, Taking, Turn};
pub use session::{Health, Progress, Runtime, Session, SessionState};
pub use talk::{Comment, Link, Question, QuestionState, Url};
pub use text::{Complexity, Name, Summary, Tag, Text, Title};
pub use time::Timestamp;
