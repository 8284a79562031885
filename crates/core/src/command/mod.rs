//! The writes: one use case a file. Each names what it must see and decides purely over it.

mod advance;
mod arrange;
mod ask;
mod begin;
mod brief;
mod checks;
mod claim;
mod claim_next;
mod close_tree;
mod complete;
mod create;
mod each;
mod edit;
mod finish;
mod holding;
mod import;
mod import_markdown;
mod key;
mod knowledge;
mod link;
mod new_item;
mod note_put;
mod note_remove;
mod place;
mod progress;
mod project_set;
mod remark;
mod remove;
mod renew;
mod run;
mod run_end;
mod sealing_key;
mod session;
mod settings;
mod submit;
mod take;
mod unlink;
mod verify;

pub use advance::{Advance, Advanced, Applied, MoveRequest, MoveResult, Named, Next, RefusedMove};
pub use arrange::{Arrange, Arranged};
pub use ask::{Ask, Asked, EndQuestion};
pub use begin::{Begin, Begun, Started};
pub use brief::{BriefSet, BriefText, NewCriterion, SetBrief};
pub use checks::{ApproveChecks, Attest, ChecksSet, NewCheck, SetChecks};
pub use claim::{Claim, ClaimOutcome, ClaimRequest, ClaimResult, Claimed, Held, ReleaseOutcome, ReleaseResult};
pub use claim_next::{ClaimNext, Offer, Wanted};
pub use close_tree::{CloseOutcome, CloseResult, CloseTree, TreeClosed, What};
pub use complete::{Complete, Completed};
pub use create::{Create, Created, CreatedItem, CreatedNote, End, NewEdge, NewNote};
pub use edit::{Change, Edit, Edited, Patch};
pub use finish::{Finish, Finished, Pending};
pub use holding::Holding;
pub use import::{Import, Imported};
pub use import_markdown::{ImportMarkdown, ImportedItem, MarkdownImported};
pub use key::{CreateKey, KeySet, RevokeKey, RotateKey};
pub(crate) use knowledge::no_such_entry;
pub use knowledge::{
    AddEntries, CiteEntries, EditEntry, EntriesAdded, EntriesCited, EntriesRemoved, EntriesReviewed, EntryEdited,
    Learning, ReadEntry, RemoveEntries, ReviewEntries, ReviewedEntry,
};
pub use link::{EdgeSpec, Link, Linked};
pub use new_item::{NewItem, Parent};
pub use note_put::{ItemNotes, NotePut, NotesPut, PutNotes, WrittenNote};
pub use note_remove::{NotesRemoved, RemoveNotes};
pub use progress::{Progress, Progressed, Stage};
pub use project_set::{ProjectSet, SetProject};
pub use remark::{LinksRemoved, NewLink, Remark, Remarked, RemoveLinks};
pub use remove::{Remove, Removed, RemovedItem};
pub use renew::{Renew, Renewed};
pub use run::{CancelRun, OrderRuns, RunsOrdered, RunsSet, TakeRun};
pub use run_end::{EndRun, Report};
pub use sealing_key::{Sealing, SealingKey};
pub use session::{Beat, BeginSession, CancelSession, FinishSession, Heartbeat, SessionBegun, SessionEnded};
pub use settings::SetSettings;
pub use submit::{Submit, Submitted};
pub use take::{Take, Taken};
pub use unlink::{Unlink, Unlinked};
pub use verify::{Proof, Verified, Verify};

pub(crate) use checks::places;
use verify::authority_of;
pub(crate) use verify::is_agent;

use crate::engine::{Call, Draft};
use crate::error::{Error, Reason};
use crate::gates::{Caller, check_holder, check_owner, guards, renew};
use crate::limits;
use crate::model::{Attribution, Authority, Fence, Item, ItemId, Verb};

/// Refuses an empty batch and one that is too large.
fn check_batch(what: &str, length: usize, most: usize) -> Result<(), Error> {
    match length {
        0 => Err(Error::validation(Reason::TooFew, format!("{what} must not be empty")).at(what)),
        length if length > most => {
            Err(Error::validation(Reason::BatchTooLarge, format!("{what} must be at most {most}, not {length}"))
                .at(what))
        }
        _ => Ok(()),
    }
}

/// Refuses a write on an item that has changed since the version it expects.
fn check_version(item: &Item, expected: Option<u64>) -> Result<(), Error> {
    if expected.is_none_or(|version| version == item.version) {
        return Ok(());
    }
    let message = format!("the item has version {}: read it again before changing it", item.version);
    Err(Error { contended_item: Some(item.id), ..Error::conflict(Reason::VersionMismatch, message) })
}

/// The caller of one entry of a batch: the entry's own actor, else the call's.
fn caller(call: &Call, by: Option<&Attribution>, fence: Option<Fence>) -> Result<Caller, Error> {
    let stated = by.is_some() || call.by.is_some();
    let keyed = call.access.is_shown() && authority_of(call) < Authority::Human;
    Ok(Caller { holder: call.holder_of(by)?, stated, keyed, fence })
}

/// Refuses a write on somebody else's item.
fn guard(draft: &Draft<'_>, item: &Item, by: Option<&Attribution>, fence: Option<Fence>) -> Result<(), Error> {
    let caller = caller(draft.call, by, fence)?;
    if !guards(draft.project_of(item)?.workflow.claims, &caller) {
        return Ok(());
    }
    check_owner(item, &caller, draft.now)
}

/// Refuses a write that decides what happens next to somebody else's item.
fn guard_move(draft: &Draft<'_>, item: &Item, fence: Option<Fence>) -> Result<(), Error> {
    let caller = caller(draft.call, None, fence)?;
    if !guards(draft.project_of(item)?.workflow.claims, &caller) {
        return Ok(());
    }
    check_holder(item, &caller, draft.now)
}

/// Extends the lease of a holder who wrote, and records it with what was written.
fn keep_lease(draft: &mut Draft<'_>, id: ItemId, by: Option<&Attribution>) -> Result<bool, Error> {
    let Some(item) = draft.item(id) else { return Ok(false) };
    let project = draft.project_of(item)?;
    let holder = draft.call.holder_of(by)?;
    let Some(claim) = renew(project.workflow.claims, item, &holder, draft.now) else { return Ok(false) };
    draft.set_claim(id, Some(claim), false);
    Ok(true)
}

/// The same for a write whose own event says nothing of the item's fields.
fn keep_lease_recorded(draft: &mut Draft<'_>, id: ItemId, by: Option<&Attribution>) -> Result<(), Error> {
    if keep_lease(draft, id, by)? {
        draft.record(Verb::Claimed, id, by, serde_json::Map::new());
    }
    Ok(())
}

/// The most that a batch of this length may close, and some more to name what keeps a parent open.
fn may_close(batch: usize) -> usize {
    batch.min(limits::BATCH) + limits::OPEN_SHOWN
}
