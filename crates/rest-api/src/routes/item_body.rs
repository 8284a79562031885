//! Items in requests: the fields of a new one, and those of a change. They are called as in answers.

use docket_core::command::{BriefText, Change, NewItem, Patch};
use docket_core::model::{
    Complexity, Fence, ItemRef, Name, Priority, Role, Slug, Summary, Tag, Text, Timestamp, Title,
};
use docket_core::{Error, Reason};
use serde::Deserialize;
use utoipa::ToSchema;

/// Declares a body with the fields of a new item and some of its own.
macro_rules! new_item {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Clone, Debug, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        $(#[$about])*
        pub(crate) struct $name {
            $($(#[$field_about])* pub(crate) $field: $type,)*
            /// One line.
            title: Title,
            /// What is meant, at length.
            description: Option<Text>,
            /// What is meant, in short.
            summary: Option<Summary>,
            /// Why it is wanted: what its author is after.
            intent: Option<Text>,
            /// Where it stands at first; the workflow's initial status where neither role nor status is said.
            role: Option<Role>,
            /// The status it has at first.
            status: Option<Name>,
            /// A free word beside the status.
            status_label: Option<Name>,
            /// How soon.
            #[serde(default)]
            priority: Priority,
            /// How hard, from 1 to 10.
            complexity: Option<Complexity>,
            /// Selects its schema.
            item_type: Option<Name>,
            /// Words to find it by.
            #[serde(default)]
            tags: Vec<Tag>,
            /// Traits that add to its schema.
            #[serde(default)]
            traits: Vec<Name>,
            /// Free data, kept as it comes.
            metadata: Option<Text>,
            /// A JSON object, written as text.
            properties: Option<Text>,
            /// Whether it should be looked at before it counts as done.
            #[serde(default)]
            requires_verification: bool,
            /// Why a person must look at it, where one must.
            attention: Option<Text>,
            /// When it should be done.
            due_at: Option<Timestamp>,
            /// How long it is thought to take.
            estimate_minutes: Option<u32>,
            /// Its place among those of its status.
            position: Option<i32>,
            /// Path globs it will change.
            #[serde(default)]
            touches: Vec<Name>,
            /// Shared resources it uses alone.
            #[serde(default)]
            needs: Vec<Name>,
            /// What an agent must be able to do to be handed it.
            #[serde(default)]
            required_capabilities: Vec<Name>,
            /// Its work contract.
            brief: Option<BriefText>,
        }

        impl $name {
            /// The item to be made; its place is said by the rest of the body.
            pub(crate) fn new_item(&self) -> Result<NewItem, Error> {
                check_properties(self.properties.as_ref())?;
                Ok(NewItem {
                    description: self.description.clone(),
                    summary: self.summary.clone(),
                    intent: self.intent.clone(),
                    role: self.role,
                    status: self.status.clone(),
                    status_label: self.status_label.clone(),
                    priority: self.priority,
                    complexity: self.complexity,
                    item_type: self.item_type.clone(),
                    tags: self.tags.clone(),
                    traits: self.traits.clone(),
                    metadata: self.metadata.clone(),
                    properties: self.properties.clone(),
                    requires_verification: self.requires_verification,
                    attention: self.attention.clone(),
                    due_at: self.due_at,
                    estimate_minutes: self.estimate_minutes,
                    position: self.position,
                    touches: self.touches.clone(),
                    needs: self.needs.clone(),
                    required_capabilities: self.required_capabilities.clone(),
                    brief: self.brief.clone(),
                    ..NewItem::titled(self.title.clone())
                })
            }
        }
    };
}

new_item! {
    /// A new item.
    #[schema(as = NewItem)]
    NewItemBody {
        /// Where it goes; may be left out where there is one project.
        project: Option<Slug>,
        /// What it lies beneath.
        parent: Option<ItemRef>,
    }
}

new_item! {
    /// A new item among others.
    #[schema(as = ListedItem)]
    ListedItemBody {
        /// What it lies beneath.
        parent: Option<ItemRef>,
    }
}

new_item! {
    /// A new item of a tree, with what lies beneath it.
    #[schema(as = TreeItem)]
    TreeItemBody {
        /// Its name in this request, for edges.
        #[serde(rename = "ref")]
        local: Option<String>,
        /// Notes on it.
        #[serde(default)]
        notes: Vec<TreeNoteBody>,
        /// What lies beneath it.
        #[serde(default)]
        #[schema(no_recursion)]
        children: Vec<TreeItemBody>,
    }
}

/// A note on a new item.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = TreeNote)]
pub(crate) struct TreeNoteBody {
    /// Its name there.
    pub(crate) key: Name,
    /// The phase it belongs to: queue, work or review.
    pub(crate) phase: Role,
    /// What it says.
    pub(crate) body: Text,
}

/// Declares a body with the fields of a change and some of its own.
macro_rules! patch {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Clone, Debug, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        $(#[$about])*
        pub(crate) struct $name {
            $($(#[$field_about])* pub(crate) $field: $type,)*
            /// The fence of the caller's claim.
            fence: Option<u64>,
            /// One line.
            title: Option<Title>,
            /// What is meant, at length; null empties it.
            #[serde(default)]
            #[schema(value_type = Option<Text>)]
            description: Change<Text>,
            /// What is meant, in short.
            summary: Option<Summary>,
            /// Why it is wanted; null empties it.
            #[serde(default)]
            #[schema(value_type = Option<Text>)]
            intent: Change<Text>,
            /// A free word beside the status; null takes it away.
            #[serde(default)]
            #[schema(value_type = Option<Name>)]
            status_label: Change<Name>,
            /// How soon.
            priority: Option<Priority>,
            /// How hard, from 1 to 10; null takes it away.
            #[serde(default)]
            #[schema(value_type = Option<Complexity>)]
            complexity: Change<Complexity>,
            /// What it lies beneath; null puts it at the root.
            #[serde(default)]
            #[schema(value_type = Option<ItemRef>)]
            parent: Change<ItemRef>,
            /// Selects its schema; null takes it away.
            #[serde(default)]
            #[schema(value_type = Option<Name>)]
            item_type: Change<Name>,
            /// All its tags.
            tags: Option<Vec<Tag>>,
            /// All its traits.
            traits: Option<Vec<Name>>,
            /// Free data; null takes it away.
            #[serde(default)]
            #[schema(value_type = Option<Text>)]
            metadata: Change<Text>,
            /// A JSON object, written as text; null takes it away.
            #[serde(default)]
            #[schema(value_type = Option<Text>)]
            properties: Change<Text>,
            /// Whether it should be looked at before it counts as done.
            requires_verification: Option<bool>,
            /// Why a person must look at it; null says that one has.
            #[serde(default)]
            #[schema(value_type = Option<Text>)]
            attention: Change<Text>,
            /// When it should be done; null takes it away.
            #[serde(default)]
            #[schema(value_type = Option<Timestamp>)]
            due_at: Change<Timestamp>,
            /// How long it is thought to take; null takes it away.
            #[serde(default)]
            #[schema(value_type = Option<u32>)]
            estimate_minutes: Change<u32>,
            /// Its place among those of its status; null takes it away.
            #[serde(default)]
            #[schema(value_type = Option<i32>)]
            position: Change<i32>,
            /// All path globs it will change.
            touches: Option<Vec<Name>>,
            /// All shared resources it uses alone.
            needs: Option<Vec<Name>>,
            /// All that an agent must be able to do to be handed it.
            required_capabilities: Option<Vec<Name>>,
        }

        impl $name {
            /// The change of an item that must still have this version.
            pub(crate) fn patch(&self, item: ItemRef, expected_version: Option<u64>) -> Result<Patch, Error> {
                if let Change::Set(properties) = &self.properties {
                    check_properties(Some(properties))?;
                }
                Ok(Patch {
                    expected_version,
                    fence: self.fence.map(Fence),
                    title: self.title.clone(),
                    description: self.description.clone(),
                    summary: self.summary.clone(),
                    intent: self.intent.clone(),
                    status_label: self.status_label.clone(),
                    priority: self.priority,
                    complexity: self.complexity.clone(),
                    parent: self.parent.clone(),
                    item_type: self.item_type.clone(),
                    tags: self.tags.clone(),
                    traits: self.traits.clone(),
                    metadata: self.metadata.clone(),
                    properties: self.properties.clone(),
                    requires_verification: self.requires_verification,
                    attention: self.attention.clone(),
                    due_at: self.due_at.clone(),
                    estimate_minutes: self.estimate_minutes.clone(),
                    position: self.position.clone(),
                    touches: self.touches.clone(),
                    needs: self.needs.clone(),
                    required_capabilities: self.required_capabilities.clone(),
                    ..Patch::of(item)
                })
            }
        }
    };
}

patch! {
    /// What changes of an item; what is not said stays.
    #[schema(as = ItemPatch)]
    PatchBody {}
}

patch! {
    /// What changes of one item among others.
    #[schema(as = ListedPatch)]
    ListedPatchBody {
        /// The item.
        item: ItemRef,
        /// The version it must still have.
        expected_version: Option<u64>,
    }
}

/// Properties are a JSON object, kept as text.
fn check_properties(properties: Option<&Text>) -> Result<(), Error> {
    let Some(text) = properties else { return Ok(()) };
    if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text.as_str()).is_ok() {
        return Ok(());
    }
    Err(Error::validation(Reason::BadValue, "properties must be a JSON object, written as text").at("properties"))
}
