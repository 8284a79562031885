//! What differs between an item before and after: for events, for the columns written, and for its label.

use serde_json::{Map, Value};

use crate::model::{Derived, Item, Name, Project, Trigger};
use crate::store::Touched;
use crate::workflow::Status;

/// The label that a trigger leaves: its own, none, or the old one when the item is only put aside.
pub(super) fn label_after(project: &Project, item: &Item, trigger: Trigger, to: &Status) -> Option<Name> {
    let labels = &project.workflow.labels;
    let key = match trigger {
        // A start that closes is a completion to whoever reads the label.
        Trigger::Start if !to.role.is_open() => Trigger::Complete,
        Trigger::Start
        | Trigger::Complete
        | Trigger::Block
        | Trigger::Hold
        | Trigger::Resume
        | Trigger::Cancel
        | Trigger::Reopen
        | Trigger::Cascade => trigger,
    };
    let label = labels.get(&key).cloned();
    match trigger {
        Trigger::Block | Trigger::Hold => label.or_else(|| item.status_label.clone()),
        // The cascade label speaks of closing; a parent that was only started or reopened gets none.
        Trigger::Cascade if to.role.is_open() => labels.get(&Trigger::Start).cloned(),
        Trigger::Start | Trigger::Complete | Trigger::Resume | Trigger::Cancel | Trigger::Reopen | Trigger::Cascade => {
            label
        }
    }
}

/// An item's fields as events carry them: all but what is derived.
pub(super) fn fields(item: &Item) -> Map<String, Value> {
    let mut all = match serde_json::to_value(item) {
        Ok(Value::Object(all)) => all,
        Ok(_) | Err(_) => Map::new(),
    };
    all.remove("derived");
    all
}

/// The fields that differ, as they are after; `null` for one that is gone.
pub(super) fn changed_fields(before: &Item, after: &Item) -> Map<String, Value> {
    let (old, new) = (fields(before), fields(after));
    let gone =
        old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null)).collect::<Vec<_>>();
    let mut set: Map<String, Value> = new.into_iter().filter(|(key, value)| old.get(key) != Some(value)).collect();
    set.extend(gone);
    set
}

/// Which groups of columns differ.
pub(super) fn touched(before: &Item, after: &Item) -> Touched {
    let state = |item: &Item| {
        (
            item.status.clone(),
            item.role,
            item.outcome,
            item.previous_status.clone(),
            item.status_label.clone(),
            item.role_changed_at,
        )
    };
    // Whatever is in no other group is content: a field added later cannot be forgotten here.
    let content = |item: &Item| Item {
        status: before.status.clone(),
        role: before.role,
        outcome: before.outcome,
        previous_status: before.previous_status.clone(),
        status_label: before.status_label.clone(),
        role_changed_at: before.role_changed_at,
        claim: before.claim.clone(),
        fence: before.fence,
        version: before.version,
        modified_at: before.modified_at,
        derived: Derived::default(),
        ..item.clone()
    };
    Touched {
        content: content(before) != content(after),
        words: before.title != after.title || before.summary != after.summary,
        stamp: before.version != after.version || before.modified_at != after.modified_at,
        state: state(before) != state(after),
        claim: before.claim != after.claim || before.fence != after.fence,
        derived: before.derived != after.derived,
    }
}
