//! What notes an item's type demands in which phase, and what closing its children does to it.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Invalid, Reason, echo};
use crate::model::{Item, Name, NoteHead, Role};

/// What closing the last child, or adding a new one, does to a parent.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifecycle {
    /// It closes with its last child.
    #[default]
    Auto,
    /// Somebody closes it.
    Manual,
    /// It stays open.
    Permanent,
    /// It closes with its last child, and opens again for a new one.
    AutoReopen,
}

impl Lifecycle {
    /// Whether closing the last child closes it.
    pub fn closes_with_children(self) -> bool {
        match self {
            Self::Auto | Self::AutoReopen => true,
            Self::Manual | Self::Permanent => false,
        }
    }
}

impl FromStr for Lifecycle {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.to_ascii_lowercase().replace('_', "-").as_str() {
            "auto" => Ok(Self::Auto),
            "manual" => Ok(Self::Manual),
            "permanent" => Ok(Self::Permanent),
            "auto-reopen" => Ok(Self::AutoReopen),
            _ => Err(Invalid::new(
                Reason::UnknownValue,
                format!("must be auto, manual, permanent or auto-reopen, not \"{}\"", echo(text)),
            )),
        }
    }
}

/// One note that a schema knows.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoteRule {
    /// The note's key.
    pub key: Name,
    /// The phase it belongs to: queue, work or review.
    pub phase: Role,
    /// Whether the phase cannot be left without it.
    #[serde(default)]
    pub required: bool,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How to write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// The skill that writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// How long its body may be, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
}

impl NoteRule {
    /// The note that the rule asks for. One of the same key that was written for another phase is not it.
    pub fn note_in<'n>(&self, notes: &'n [NoteHead]) -> Option<&'n NoteHead> {
        notes.iter().find(|note| note.key == self.key && note.phase == self.phase)
    }
}

/// What one type of item demands.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Schema {
    /// What closing its children does to it; the workflow's default where it is silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// Traits every item of the type has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_traits: Vec<Name>,
    /// Its notes, in order.
    pub notes: Vec<NoteRule>,
}

/// Notes that an item can take on beside its type's.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Trait {
    /// Its notes, in order.
    pub notes: Vec<NoteRule>,
    /// Shared resources that work on the item uses alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
}

/// What happens to a note body longer than its rule allows.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteLimits {
    /// It is written, and the answer says so.
    #[default]
    Warn,
    /// It is refused.
    Reject,
}

/// All schemas and traits of a project.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Schemas {
    /// By type; `default` is the fallback.
    pub types: BTreeMap<String, Schema>,
    /// By name.
    pub traits: BTreeMap<String, Trait>,
    /// Traits every item has, whatever its type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_traits: Vec<Name>,
    /// What happens to a body that is too long.
    pub note_limits: NoteLimits,
}

/// The schema that holds for one item, its traits merged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved<'s> {
    /// Its own lifecycle, if it says one.
    pub lifecycle: Option<Lifecycle>,
    /// Its notes: the type's, then the traits'.
    pub notes: Vec<&'s NoteRule>,
}

impl Schemas {
    /// The type whose name is the fallback.
    pub const FALLBACK: &'static str = "default";

    /// The schema for an item, with the notes of its traits, which hold also where there is no schema.
    pub fn resolve(&self, item: &Item) -> Option<Resolved<'_>> {
        let schema = self.schema_of(item);
        let mut notes: Vec<&NoteRule> = schema.into_iter().flat_map(|schema| &schema.notes).collect();
        for added in self.traits_of(item) {
            for rule in &added.notes {
                if notes.iter().all(|known| known.key != rule.key) {
                    notes.push(rule);
                }
            }
        }
        let lifecycle = schema.and_then(|schema| schema.lifecycle);
        (schema.is_some() || !notes.is_empty()).then_some(Resolved { lifecycle, notes })
    }

    /// Adds to an item what its traits need, so that it is told with the item and kept apart from others that need it.
    pub fn add_needs(&self, item: &mut Item) {
        for need in self.needs_of(item) {
            if !item.needs.contains(&need) {
                item.needs.push(need);
            }
        }
    }

    /// Takes from a changed item what only its former traits needed.
    pub fn drop_needs(&self, before: &Item, item: &mut Item) {
        let (former, present) = (self.needs_of(before), self.needs_of(item));
        item.needs.retain(|need| !former.contains(need) || present.contains(need));
    }

    fn needs_of(&self, item: &Item) -> Vec<Name> {
        self.traits_of(item).into_iter().flat_map(|added| added.needs.clone()).collect()
    }

    /// By type, else by its first tag that names one, else the fallback.
    fn schema_of(&self, item: &Item) -> Option<&Schema> {
        let by_type = item.item_type.as_ref().and_then(|name| self.types.get(name.as_str()));
        let by_tag = || item.tags.iter().find_map(|tag| self.types.get(tag.as_str()));
        by_type.or_else(by_tag).or_else(|| self.types.get(Self::FALLBACK))
    }

    /// Those of its type, those of all items, then its own.
    fn traits_of(&self, item: &Item) -> Vec<&Trait> {
        let of_type = self.schema_of(item).into_iter().flat_map(|schema| &schema.default_traits);
        let names = of_type.chain(&self.default_traits).chain(&item.traits);
        names.filter_map(|name| self.traits.get(name.as_str())).collect()
    }
}

impl<'s> Resolved<'s> {
    /// Whether a note belongs to the review phase.
    pub fn has_review(&self) -> bool {
        self.notes.iter().any(|rule| rule.phase == Role::Review)
    }

    /// The rule for a key.
    pub fn rule(&self, key: &Name) -> Option<&'s NoteRule> {
        self.notes.iter().copied().find(|rule| rule.key == *key)
    }

    /// Required notes that are missing or blank: of one phase, or of all.
    pub fn missing(&self, phase: Option<Role>, notes: &[NoteHead]) -> Vec<&'s NoteRule> {
        let filled = |rule: &NoteRule| rule.note_in(notes).is_some_and(|note| note.filled);
        self.notes
            .iter()
            .copied()
            .filter(|rule| rule.required && phase.is_none_or(|phase| rule.phase == phase) && !filled(rule))
            .collect()
    }

    /// How many required notes of a phase there are.
    pub fn required_in(&self, phase: Role) -> usize {
        self.notes.iter().filter(|rule| rule.required && rule.phase == phase).count()
    }
}
