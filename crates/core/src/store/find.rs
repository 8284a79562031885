//! Questions a store answers by its indexes: lists, counts, events, scans.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ProjectRef, ScanRows, Visible};
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{
    Complexity, Item, ItemId, Name, Priority, Role, RunId, SessionId, SessionState, Tag, Timestamp, Title, Verb,
};

/// Whether and how an item is claimed.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// Under a live claim.
    Claimed,
    /// Never claimed, or released.
    Unclaimed,
    /// Under a claim whose lease has run out.
    Expired,
}

/// What a list is ordered by. Equal rows follow in the order they were made.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SortBy {
    /// By title, by code point.
    Title,
    /// High before medium before low, when descending.
    Priority,
    /// By complexity; what has none comes last.
    Complexity,
    /// By the order in which they were made.
    #[default]
    CreatedAt,
    /// By last change.
    ModifiedAt,
}

/// Which way a list runs.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Smallest first.
    Asc,
    /// Largest first.
    #[default]
    Desc,
}

/// From and to, both exclusive; open where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeRange {
    /// Later than this.
    pub after: Option<Timestamp>,
    /// Earlier than this.
    pub before: Option<Timestamp>,
}

impl TimeRange {
    /// Refuses a beginning that is still to come: nothing can be later, and who asks for that has a clock that is wrong.
    pub(crate) fn check(self, field: &str, now: Timestamp) -> Result<(), Error> {
        match self.after {
            Some(after) if after > now => {
                let message = format!("{field} lies in the future: it is {now} here");
                Err(Error::validation(Reason::BadValue, message).at(field))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// A place in a list: right after an item, by what the list is ordered by. It stays where it is, whatever becomes of the
/// item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place(
    /// What the list is ordered by, as the item had it.
    pub Mark,
    /// What tells it from its equals.
    pub Tie,
);

/// What a list is ordered by, as one item has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    /// Its title.
    Title(Title),
    /// Its priority.
    Priority(Priority),
    /// Its complexity.
    Complexity(Option<Complexity>),
    /// Nothing but the order in which items were made.
    Created,
    /// When it was last changed.
    Modified(Timestamp),
}

/// What tells equals apart, in the order in which they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tie {
    /// Within one project: the number.
    Number(u32),
    /// Over several: the id.
    Id(ItemId),
}

/// Which items a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// In a project that may be seen; the engine fills this in.
    pub visible: Visible,
    /// In this project.
    pub project: ProjectRef,
    /// `Some(None)`: roots. `Some(Some(id))`: direct children.
    pub parent: Option<Option<ItemId>>,
    /// At this depth.
    pub depth: Option<u8>,
    /// In one of these roles; in any when empty.
    pub roles: Vec<Role>,
    /// In this status.
    pub status: Option<Name>,
    /// Of this priority.
    pub priority: Option<Priority>,
    /// With one of these tags; with any when empty.
    pub tags: Vec<Tag>,
    /// Of this type.
    pub item_type: Option<Name>,
    /// Words that title and summary must hold: folded by [`crate::search::terms`], each the beginning of a word.
    pub words: Vec<String>,
    /// Made in this time.
    pub created: TimeRange,
    /// Changed in this time.
    pub modified: TimeRange,
    /// Role changed in this time.
    pub role_changed: TimeRange,
    /// Claimed or not.
    pub claim: Option<ClaimState>,
    /// Held up by open blockers, or not.
    pub blocked: Option<bool>,
    /// With something that waits for a person, or nothing.
    pub inbox: Option<bool>,
    /// Held by this agent, by a claim that is live.
    pub held_by: Option<Name>,
    /// The order.
    pub sort: SortBy,
    /// Which way it runs.
    pub order: Order,
    /// How many; 0 asks for the count alone.
    pub limit: usize,
    /// No more items than there is room for in so many bytes of their long texts, as [`fitting`] counts them, and one beyond: that one
    /// tells whoever asked that there is more. It makes no other list of it: pages of either kind go on where one of the other ended.
    #[serde(skip)]
    pub bytes: Option<usize>,
    /// Only what comes after this place: where the page before ended. The count is of all.
    pub after: Option<Place>,
    /// How many to leave out at the beginning. What is put in or taken out meanwhile shifts what follows.
    pub offset: usize,
    /// Whether the count of all matches is wanted.
    pub count: bool,
}

/// How many of these items, from the first, have room in so many bytes: those whose long texts, with the texts of all before them,
/// are no more. A store counts as this does: it shows what fits and the one that no longer does, and no row after it.
pub fn fitting<'i>(items: impl IntoIterator<Item = &'i Item>, bytes: usize) -> usize {
    let mut sum = 0_usize;
    let texts = items.into_iter().map(|item| {
        let free = [&item.description, &item.properties, &item.metadata];
        item.summary.as_str().len() + free.into_iter().flatten().map(|text| text.as_str().len()).sum::<usize>()
    });
    texts
        .take_while(|text| {
            sum = sum.saturating_add(*text);
            sum <= bytes
        })
        .count()
}

impl Filter {
    /// Refuses more words than are searched by: to leave some out would find more than was asked for.
    pub(crate) fn check_words(&self) -> Result<(), Error> {
        let (most, count) = (limits::SEARCH_WORDS, self.words.len());
        if count <= most {
            return Ok(());
        }
        let message = format!("query must be at most {most} different words, not {count}");
        Err(Error::validation(Reason::TooMany, message).at("query"))
    }

    /// Refuses times that are still to come.
    pub(crate) fn check_times(&self, now: Timestamp) -> Result<(), Error> {
        self.created.check("createdAfter", now)?;
        self.modified.check("modifiedAfter", now)?;
        self.role_changed.check("roleChangedAfter", now)
    }

    /// The place of an item in this list.
    pub fn place(&self, item: &Item) -> Place {
        let mark = match self.sort {
            SortBy::Title => Mark::Title(item.title.clone()),
            SortBy::Priority => Mark::Priority(item.priority),
            SortBy::Complexity => Mark::Complexity(item.complexity),
            SortBy::CreatedAt => Mark::Created,
            SortBy::ModifiedAt => Mark::Modified(item.modified_at),
        };
        let tie = match self.project {
            ProjectRef::Any => Tie::Id(item.id),
            ProjectRef::Id(_) | ProjectRef::Slug(_) => Tie::Number(item.number),
        };
        Place(mark, tie)
    }

    /// Whether this is a place of this list, and not of one that is ordered otherwise.
    pub fn has(&self, place: &Place) -> bool {
        let ordered = matches!(
            (self.sort, &place.0),
            (SortBy::Title, Mark::Title(_))
                | (SortBy::Priority, Mark::Priority(_))
                | (SortBy::Complexity, Mark::Complexity(_))
                | (SortBy::CreatedAt, Mark::Created)
                | (SortBy::ModifiedAt, Mark::Modified(_))
        );
        ordered && matches!(place.1, Tie::Id(_)) == (self.project == ProjectRef::Any)
    }
}

/// A page of items.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The database's time.
    pub now: Timestamp,
    /// The page.
    pub items: Vec<Item>,
    /// How many match in all, where that was asked for.
    pub total: u64,
}

/// How claims stand.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimTally {
    /// Live.
    pub active: u64,
    /// Run out.
    pub expired: u64,
    /// Without a claim.
    pub unclaimed: u64,
}

/// How an item's direct children stand.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildTally {
    /// By role, in the order of [`Role::ALL`]; written out with the roles' names.
    #[serde(serialize_with = "by_role")]
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, u64>))]
    pub by_role: [u64; 5],
    /// By claim.
    pub claims: ClaimTally,
}

impl ChildTally {
    /// Lowers what is more than so much, and says whether anything was.
    pub fn cut(&mut self, most: u64) -> bool {
        let claims = &mut self.claims;
        let counts = self.by_role.iter_mut().chain([&mut claims.active, &mut claims.expired]);
        counts.fold(false, |cut, count| {
            let more = *count > most;
            *count = (*count).min(most);
            cut || more
        })
    }
}

/// Whose families are wanted.
#[derive(Clone, Debug)]
pub enum Heads {
    /// Those of these items.
    These(Vec<ItemId>),
    /// Those of a page of the items that match a filter.
    Page(Box<Filter>),
}

/// Items with their direct children, as of one moment.
#[derive(Clone, Debug, Default)]
pub struct Families {
    /// The items, in the order in which they were asked for.
    pub items: Vec<Item>,
    /// Their direct children, as many of each as were asked for, the oldest of each first.
    pub children: Vec<Item>,
    /// How the direct children of all of these stand.
    pub tallies: BTreeMap<ItemId, ChildTally>,
}

/// Which events a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventFilter {
    /// In a project that may be seen, with the other end in one too; the engine fills this in.
    pub visible: Visible,
    /// In this project.
    pub project: ProjectRef,
    /// On this item, or with it at the other end.
    pub item: Option<ItemId>,
    /// On each of these items: as many of each as the limit says, and not those that have it at the other end.
    pub each: Vec<ItemId>,
    /// Of these verbs; of any when empty.
    pub verbs: Vec<Verb>,
    /// After this number.
    pub after: Option<u64>,
    /// Before this number.
    pub before: Option<u64>,
    /// Later than this.
    pub since: Option<Timestamp>,
    /// The newest first.
    pub newest_first: bool,
    /// How many.
    pub limit: usize,
}

/// Which sessions a list holds, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionFilter {
    /// In a project that may be seen; the engine fills this in.
    pub visible: Visible,
    /// In this project.
    pub project: ProjectRef,
    /// On this item.
    pub item: Option<ItemId>,
    /// Of this agent.
    pub actor: Option<Name>,
    /// In one of these states; in any when empty.
    pub states: Vec<SessionState>,
    /// Begun before this one.
    pub before: Option<SessionId>,
    /// How many.
    pub limit: usize,
}

/// Which rows a scan goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanTable {
    /// Items, parents before children where they were made so.
    Items,
    /// Edges.
    Edges,
    /// Notes.
    Notes,
    /// Briefs.
    Briefs,
    /// Questions.
    Questions,
    /// Comments.
    Comments,
    /// Links.
    Links,
    /// Entries of the knowledge.
    Entries,
    /// Links of entries, by entry and item.
    EntryLinks,
    /// Sessions.
    Sessions,
}

/// Which runs are shown, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The projects that the caller may see.
    pub visible: Visible,
    /// Only those of this project.
    pub project: ProjectRef,
    /// Only those of this item.
    pub item: Option<ItemId>,
    /// Only those that wait or run, the oldest first.
    pub open_only: bool,
    /// Only those that were ordered after this one, in a list of those that wait or run.
    pub after: Option<RunId>,
    /// How many are passed over.
    pub offset: usize,
    /// How many are shown.
    pub limit: usize,
}

/// A page of a scan.
#[derive(Clone, Debug)]
pub struct ScanPage {
    /// The rows.
    pub rows: ScanRows,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

fn by_role<S: serde::Serializer>(counts: &[u64; 5], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Role::ALL.iter().map(|role| role.as_str()).zip(counts))
}
