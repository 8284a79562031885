//! Whose turn it is to write, among all processes on one database.
//!
//! Units of work take a turn each, by locks of the database's that end with their transaction. A shared turn lets others
//! with a shared one run beside it: it may write only rows that it has locked. Whoever changes what others rely on without
//! locking it (edges, parents, statuses, rules, what live claims keep others from) has the turn alone. See
//! docs/adr/0008-turns-on-postgres.md.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use docket_core::model::{ItemId, NoteId};
use docket_core::store::{Around, ChangeSet, EdgeReach, ItemChange, ProjectRef, Scope, Slice};

/// The names of our locks differ in their upper 16 bits. The fourth, 53443, belonged to numbers of events: `docket_announce` in the
/// migrations took it, and takes names of another form now, in two halves, of which the first is the schema's.
mod name {
    pub(super) const TURN: u64 = 53_440 << 48;
    pub(super) const HOLDER: u64 = 53_441 << 48;
    pub(super) const ANSWER: u64 = 53_442 << 48;
    pub(super) const MIGRATION: u64 = 53_444 << 48;
}

/// The lock under which the schema is made and changed.
pub(crate) const MIGRATION_LOCK: i64 = name::MIGRATION.cast_signed();

/// How a unit of work is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Beside others, on rows that it locks.
    Shared,
    /// Alone: no row needs a lock.
    Alone,
}

impl Turn {
    /// The turn that a unit with this scope will most likely need. A wrong guess costs a repetition, never a wrong answer.
    pub(crate) fn for_scope(scope: &Scope) -> Self {
        let Around {
            ancestors,
            subtree,
            subtree_bytes: _,
            open_children,
            edges,
            notes: _,
            waits,
            gives_way,
            component,
            // What belongs to an item is locked with it.
            briefs: _,
            questions: _,
            comments: _,
            links: _,
            sessions: _,
            open_runs: _,
        } = scope.around;
        let reaches_out = ancestors || subtree.is_some() || open_children.is_some() || waits || gives_way || component;
        // Two runners that want one run must not both believe that it waits.
        let reaches_out = reaches_out || !scope.run_ids.is_empty();
        if reaches_out || edges != EdgeReach::None || !scope.edge_ids.is_empty() || scope.every_project {
            Self::Alone
        } else {
            Self::Shared
        }
    }

    /// What follows `BEGIN`: takes the turn, and what two units under a shared turn must not both believe to be free: an
    /// agent's number of claims, the name of a request.
    pub(crate) fn statements(self, scope: &Scope, patience: Duration) -> String {
        let patience = patience.as_millis();
        let turn = name::TURN.cast_signed();
        // A process that stops in the middle of a unit must not stop all others; its transaction is ended by the server.
        let mut text = format!(
            "; SET LOCAL lock_timeout = {patience}; SET LOCAL idle_in_transaction_session_timeout = {patience}"
        );
        // Writing into a String does not fail.
        match self {
            Self::Alone => {
                let _ = write!(text, "; SELECT pg_advisory_xact_lock({turn})");
            }
            Self::Shared => {
                let _ = write!(text, "; SELECT pg_advisory_xact_lock_shared({turn})");
                // In the order of their names, so that two units for the same agents do not wait for each other.
                let holders: BTreeSet<i64> =
                    scope.held_by.iter().map(|holder| lock_name(name::HOLDER, &[holder.as_str()])).collect();
                for lock in holders {
                    let _ = write!(text, "; SELECT pg_advisory_xact_lock({lock})");
                }
                if let Some(key) = &scope.answer {
                    let parts = [key.principal.as_str(), &key.operation, key.request.as_str()];
                    let _ = write!(text, "; SELECT pg_advisory_xact_lock({})", lock_name(name::ANSWER, &parts));
                }
                // Who links, changes or removes an entry takes turns with others at it, so that events come in the order of what
                // happened. In the order of their ids, as above.
                let entries: BTreeSet<String> =
                    scope.knowledge.entries.iter().map(|id| uuid::Uuid::from_u128(id.0.0).to_string()).collect();
                if !entries.is_empty() {
                    let ids: Vec<String> = entries.into_iter().collect();
                    let _ = write!(
                        text,
                        "; SELECT 1 FROM knowledge WHERE id = ANY('{{{}}}'::uuid[]) ORDER BY id FOR NO KEY UPDATE",
                        ids.join(",")
                    );
                }
                if let Some(project) = numbered(scope) {
                    let _ = write!(text, "; SELECT 1 FROM projects WHERE id = '{project}' FOR NO KEY UPDATE");
                }
            }
        }
        text
    }
}

/// What a unit under a shared turn has locked.
#[derive(Debug, Default)]
pub(crate) struct Locked {
    pub(crate) items: BTreeSet<ItemId>,
    /// Whether there was ready work that others hold locked.
    pub(crate) skipped: bool,
}

impl Locked {
    /// Whether a change set writes nothing but what is locked, and nothing that others rely on without a lock.
    pub(crate) fn covers(&self, changes: &ChangeSet, seen: &Slice) -> bool {
        let ChangeSet {
            projects,
            // Compared when they are written: two units cannot take the same number, and the slower one loses the race.
            next_numbers: _,
            new_items,
            changed_items,
            removed_items,
            new_edges,
            removed_edges,
            notes,
            removed_notes,
            briefs,
            questions,
            passed_questions,
            comments,
            links,
            removed_links,
            // Entries are compared by version and the count by itself when they are written.
            knowledge,
            new_sessions,
            changed_sessions,
            // Those that are changed were read under a turn of their own; new ones concern nobody else.
            runs: _,
            // Whoever acts with a key relies on what was read of it.
            keys,
            keys_used: _,
            events: _,
            answer: _,
        } = changes;
        let made: BTreeSet<ItemId> = new_items.iter().map(|item| item.id).collect();
        let known = |id: &ItemId| self.items.contains(id) || made.contains(id);
        projects.is_empty()
            && keys.is_empty()
            && removed_items.is_empty()
            && new_edges.is_empty()
            && removed_edges.is_empty()
            && new_items.iter().all(|item| item.parent.as_ref().is_none_or(known))
            && changed_items.iter().all(|change| self.covers_change(change, seen))
            && notes.iter().all(|note| known(&note.item))
            && removed_notes.iter().all(|id| item_of(*id, seen).as_ref().is_some_and(known))
            && briefs.iter().all(|(item, _)| known(item))
            && questions.iter().all(|question| known(&question.item))
            && passed_questions.iter().all(|passed| known(&passed.item))
            && comments.iter().all(|comment| known(&comment.item))
            && links.iter().all(|link| known(&link.item))
            && knowledge.links.iter().all(|link| known(&link.item))
            && new_sessions.iter().all(|session| known(&session.item))
            && changed_sessions.iter().all(|change| known(&change.session.item))
            && removed_links.iter().all(|id| seen.links.get(id).is_some_and(|link| known(&link.item)))
    }

    fn covers_change(&self, change: &ItemChange, seen: &Slice) -> bool {
        let after = &change.item;
        let Some(before) = seen.items.get(&after.id).filter(|before| self.items.contains(&before.id)) else {
            return false;
        };
        let moves = (before.role, &before.status, before.parent) != (after.role, &after.status, after.parent);
        // Two claims that get in each other's way would each not see the other.
        let keeps_others_out = !(after.touches.is_empty() && after.needs.is_empty());
        let places_claim = after.claim.is_some() && before.claim != after.claim;
        !(moves || keeps_others_out && places_claim)
    }
}

/// The project whose next number a unit with this scope will most likely take: one that looks at no item makes some. It
/// is locked before the number is read, so that units that make items take turns instead of losing races.
fn numbered(scope: &Scope) -> Option<uuid::Uuid> {
    let nothing_said = scope.note_ids.is_empty() && scope.question_ids.is_empty() && scope.link_ids.is_empty();
    let says = !(nothing_said && scope.session_ids.is_empty());
    let looks = says || !scope.knowledge.is_empty() || !(scope.items.is_empty() && scope.held_by.is_empty());
    match scope.project {
        ProjectRef::Id(id) if !looks && scope.candidates.is_none() => Some(id.as_uuid()),
        ProjectRef::Id(_) | ProjectRef::Slug(_) | ProjectRef::Any => None,
    }
}

fn item_of(note: NoteId, seen: &Slice) -> Option<ItemId> {
    let heads = seen.note_heads.values().flatten().find(|head| head.id == note).map(|head| head.item);
    heads.or_else(|| seen.notes.iter().find(|known| known.id == note).map(|known| known.item))
}

/// The name of a lock on some texts. Two texts of one name wait for each other needlessly, and nothing worse.
fn lock_name(kind: u64, parts: &[&str]) -> i64 {
    // FNV-1a, since every process of every version must find the same name.
    let bytes = parts.iter().flat_map(|part| part.bytes().chain(std::iter::once(0)));
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (kind | ((hash ^ (hash >> 48)) & 0xffff_ffff_ffff)).cast_signed()
}
