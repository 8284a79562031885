//! Typed edges between items, and what each does to its two ends.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{EdgeId, Item, ItemId, Outcome, Role, Timestamp};
use crate::error::{Invalid, Reason, echo};

/// What an edge says of its two ends.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// `to` may not go on before `from` has come far enough.
    Blocks,
    /// Worth knowing, without effect.
    RelatesTo,
    /// `from` replaces `to`: once `from` has shipped, `to` is no longer handed out.
    Supersedes,
    /// `from` repeats `to`: while `to` lives, `from` is not handed out.
    DuplicateOf,
}

impl EdgeKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Blocks, Self::RelatesTo, Self::Supersedes, Self::DuplicateOf];

    /// Whether one end of such an edge gives way to the other.
    pub fn gives_way(self) -> bool {
        match self {
            Self::Supersedes | Self::DuplicateOf => true,
            Self::Blocks | Self::RelatesTo => false,
        }
    }

    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::RelatesTo => "relates-to",
            Self::Supersedes => "supersedes",
            Self::DuplicateOf => "duplicate-of",
        }
    }
}

impl FromStr for EdgeKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let plain = text.to_ascii_lowercase().replace('_', "-");
        Self::ALL.into_iter().find(|kind| kind.as_str() == plain).ok_or_else(|| {
            Invalid::new(
                Reason::UnknownValue,
                format!("must be one of blocks, relates-to, supersedes, duplicate-of, not \"{}\"", echo(text)),
            )
        })
    }
}

/// A typed edge between two items.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// Names it for ever.
    pub id: EdgeId,
    /// What it says.
    pub kind: EdgeKind,
    /// Where it begins: the blocker, the replacement, the duplicate.
    pub from: ItemId,
    /// Where it ends.
    pub to: ItemId,
    /// How far the blocker must come, where it was said; `terminal` otherwise. Only on `blocks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unblock_at: Option<Role>,
    /// Whether it was written from the blocked end ("is blocked by"), so that it can be shown as it was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inverse: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What one edge adds to the derived numbers of its ends. Summed over all edges they are the numbers an item keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent answers, summed apart")]
pub struct EdgeEffect {
    /// `to` is blocked by it.
    pub blocks_to: bool,
    /// `from` would unblock open work by moving on.
    pub from_unblocks: bool,
    /// `to` is moot: superseded.
    pub to_is_moot: bool,
    /// `from` is moot: a duplicate.
    pub from_is_moot: bool,
}

impl Edge {
    /// The role that `from` must reach.
    pub fn threshold(&self) -> Role {
        self.unblock_at.unwrap_or(Role::Terminal)
    }

    /// Whether a blocker in `role` holds `to` up no longer.
    pub fn is_satisfied_by(&self, role: Role) -> bool {
        self.kind != EdgeKind::Blocks || role.has_reached(self.threshold())
    }

    /// What this edge does, given where its ends stand.
    pub fn effect(&self, from: &Item, to: &Item) -> EdgeEffect {
        match self.kind {
            EdgeKind::Blocks => {
                let blocks = !self.is_satisfied_by(from.role);
                EdgeEffect { blocks_to: blocks, from_unblocks: blocks && to.role.is_open(), ..EdgeEffect::default() }
            }
            EdgeKind::RelatesTo => EdgeEffect::default(),
            EdgeKind::Supersedes => {
                let shipped = from.role == Role::Review || from.outcome == Some(Outcome::Success);
                EdgeEffect { to_is_moot: shipped, ..EdgeEffect::default() }
            }
            EdgeKind::DuplicateOf => {
                EdgeEffect { from_is_moot: to.outcome != Some(Outcome::Cancelled), ..EdgeEffect::default() }
            }
        }
    }

    /// The end that gives way and the one that it gives way to, where the edge says that one of them is done elsewhere.
    pub fn gives_way(&self) -> Option<(ItemId, ItemId)> {
        match self.kind {
            EdgeKind::DuplicateOf => Some((self.from, self.to)),
            EdgeKind::Supersedes => Some((self.to, self.from)),
            EdgeKind::Blocks | EdgeKind::RelatesTo => None,
        }
    }

    /// Its ends in the order in which its author wrote them.
    pub fn written(&self) -> (ItemId, ItemId) {
        if self.inverse { (self.to, self.from) } else { (self.from, self.to) }
    }

    /// The end that is not `item`.
    pub fn other(&self, item: ItemId) -> ItemId {
        if self.from == item { self.to } else { self.from }
    }
}
