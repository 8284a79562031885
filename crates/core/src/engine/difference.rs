//! What differs between an item before and after: for events, for the columns written, and for its label.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::{Item, Name, Project, Trigger};
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
///
/// Most changes touch a few small fields of a large item, so only what differs is written out. The item is taken apart by
/// name: a field added later has to be named here too.
pub(super) fn changed_fields(before: &Item, after: &Item) -> Map<String, Value> {
    let Item {
        id,
        project,
        number,
        parent,
        depth,
        title,
        description,
        summary,
        intent,
        status,
        role,
        outcome,
        previous_status,
        status_label,
        priority,
        complexity,
        item_type,
        tags,
        traits,
        metadata,
        properties,
        requires_verification,
        attention,
        due_at,
        estimate_minutes,
        position,
        touches,
        needs,
        required_capabilities,
        claim,
        fence,
        version,
        created_at,
        modified_at,
        role_changed_at,
        derived: _,
    } = after;
    let mut set = Changed::default();
    macro_rules! fields {
        ($($name:literal => $field:ident),*) => { $(set.field($name, &before.$field, $field);)* };
    }
    fields!(
        "id" => id, "project" => project, "number" => number, "parent" => parent, "depth" => depth,
        "title" => title, "description" => description, "summary" => summary, "intent" => intent,
        "status" => status, "role" => role, "outcome" => outcome, "previousStatus" => previous_status,
        "statusLabel" => status_label, "priority" => priority, "complexity" => complexity, "itemType" => item_type,
        "metadata" => metadata, "properties" => properties, "requiresVerification" => requires_verification,
        "claim" => claim, "fence" => fence, "version" => version, "createdAt" => created_at,
        "modifiedAt" => modified_at, "roleChangedAt" => role_changed_at
    );
    set.list("tags", &before.tags, tags);
    set.list("traits", &before.traits, traits);
    set.list("touches", &before.touches, touches);
    set.list("needs", &before.needs, needs);
    set.list("requiredCapabilities", &before.required_capabilities, required_capabilities);
    fields!("attention" => attention, "dueAt" => due_at, "estimateMinutes" => estimate_minutes, "position" => position);
    set.0
}

#[derive(Default)]
struct Changed(Map<String, Value>);

impl Changed {
    fn field<T: Serialize + PartialEq>(&mut self, name: &str, before: &T, after: &T) {
        if before != after {
            self.0.insert(name.to_owned(), serde_json::to_value(after).unwrap_or(Value::Null));
        }
    }

    /// An empty list is stored as none at all.
    fn list<T: Serialize + PartialEq>(&mut self, name: &str, before: &[T], after: &[T]) {
        if before != after {
            let after = (!after.is_empty()).then_some(after);
            self.0.insert(name.to_owned(), serde_json::to_value(after).unwrap_or(Value::Null));
        }
    }
}

/// Which groups of columns differ.
pub(super) fn touched(before: &Item, after: &Item) -> Touched {
    // Taken apart by name: a field added later has to be put into a group.
    let Item {
        id,
        project,
        number,
        parent,
        depth,
        title,
        description,
        summary,
        intent,
        status,
        role,
        outcome,
        previous_status,
        status_label,
        priority,
        complexity,
        item_type,
        tags,
        traits,
        metadata,
        properties,
        requires_verification,
        attention,
        due_at,
        estimate_minutes,
        position,
        touches,
        needs,
        required_capabilities,
        claim,
        fence,
        version,
        created_at,
        modified_at,
        role_changed_at,
        derived,
    } = after;
    let words = before.title != *title || before.summary != *summary;
    let content = words
        || (before.id, before.project, before.number, before.created_at) != (*id, *project, *number, *created_at)
        || (before.parent, before.depth) != (*parent, *depth)
        || before.description != *description
        || (before.priority, before.complexity) != (*priority, *complexity)
        || (&before.item_type, &before.tags, &before.traits) != (item_type, tags, traits)
        || (&before.metadata, &before.properties) != (metadata, properties)
        || before.requires_verification != *requires_verification
        || (&before.intent, &before.attention) != (intent, attention)
        || (before.due_at, before.estimate_minutes, before.position) != (*due_at, *estimate_minutes, *position)
        || (&before.touches, &before.needs, &before.required_capabilities) != (touches, needs, required_capabilities);
    Touched {
        content,
        words,
        stamp: (before.version, before.modified_at) != (*version, *modified_at),
        state: (&before.status, before.role, before.outcome) != (status, *role, *outcome)
            || (&before.previous_status, &before.status_label) != (previous_status, status_label)
            || before.role_changed_at != *role_changed_at,
        claim: before.claim != *claim || before.fence != *fence,
        derived: before.derived != *derived,
    }
}

#[cfg(test)]
mod tests {
    use super::{changed_fields, fields, touched};
    use crate::model::{
        Claim, Complexity, Derived, Fence, Item, ItemId, Outcome, Priority, ProjectId, Role, Timestamp,
    };
    use crate::model::{Summary, Tag, Text, Title};
    use crate::testing::name;

    fn bare() -> Item {
        Item {
            id: ItemId::from_uuid(uuid::Uuid::from_u128(1)),
            project: ProjectId::from_uuid(uuid::Uuid::from_u128(2)),
            number: 1,
            parent: None,
            depth: 0,
            title: Title::parse("a").expect("a title"),
            description: None,
            summary: Summary::parse("").expect("a summary"),
            intent: None,
            status: name("queue"),
            role: Role::Queue,
            outcome: None,
            previous_status: None,
            status_label: None,
            priority: Priority::Medium,
            complexity: None,
            item_type: None,
            tags: vec![],
            traits: vec![],
            metadata: None,
            properties: None,
            requires_verification: false,
            attention: None,
            due_at: None,
            estimate_minutes: None,
            position: None,
            touches: vec![],
            needs: vec![],
            required_capabilities: vec![],
            claim: None,
            fence: Fence(0),
            version: 1,
            created_at: Timestamp::from_millis(1),
            modified_at: Timestamp::from_millis(1),
            role_changed_at: Timestamp::from_millis(1),
            derived: Derived::default(),
        }
    }

    /// Differs from [`bare`] in every field.
    fn full() -> Item {
        let now = Timestamp::from_millis(9);
        let text = || Some(Text::parse("{}").expect("a text"));
        Item {
            id: ItemId::from_uuid(uuid::Uuid::from_u128(3)),
            project: ProjectId::from_uuid(uuid::Uuid::from_u128(4)),
            number: 2,
            parent: Some(ItemId::from_uuid(uuid::Uuid::from_u128(5))),
            depth: 1,
            title: Title::parse("b").expect("a title"),
            description: text(),
            summary: Summary::parse("short").expect("a summary"),
            intent: text(),
            status: name("done"),
            role: Role::Terminal,
            outcome: Some(Outcome::Success),
            previous_status: Some(name("work")),
            status_label: Some(name("shipped")),
            priority: Priority::High,
            complexity: Some(Complexity::parse(3).expect("a complexity")),
            item_type: Some(name("bug")),
            tags: vec![Tag::parse("urgent").expect("a tag")],
            traits: vec![name("careful")],
            metadata: text(),
            properties: text(),
            requires_verification: true,
            attention: text(),
            due_at: Some(now),
            estimate_minutes: Some(30),
            position: Some(-1),
            touches: vec![name("src")],
            needs: vec![name("gpu")],
            required_capabilities: vec![name("rust")],
            claim: Some(Claim {
                holder: name("ann"),
                claimed_at: now,
                expires_at: None,
                original_claimed_at: now,
                ttl_seconds: 0,
            }),
            fence: Fence(1),
            version: 2,
            created_at: now,
            modified_at: now,
            role_changed_at: now,
            derived: Derived { blockers: 1, ..Derived::default() },
        }
    }

    #[test]
    fn a_difference_is_what_the_stored_forms_differ_in() {
        for (before, after) in [(bare(), full()), (full(), bare()), (bare(), bare())] {
            let (old, new) = (fields(&before), fields(&after));
            let mut expected = new.clone();
            expected.retain(|key, value| old.get(key) != Some(value));
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            expected.extend(gone.map(|key| (key.clone(), serde_json::Value::Null)));
            assert_eq!(changed_fields(&before, &after), expected);
        }
        assert_eq!(changed_fields(&bare(), &full()).len(), fields(&full()).len(), "every field differs");
    }

    #[test]
    fn every_field_is_in_a_group() {
        let all = touched(&bare(), &full());
        assert!(all.content && all.words && all.stamp && all.state && all.claim && all.derived, "{all:?}");
        assert!(!touched(&full(), &full()).any());
        let edited = Item { description: full().description, ..bare() };
        assert!(touched(&bare(), &edited).content && !touched(&bare(), &edited).words);
    }
}
