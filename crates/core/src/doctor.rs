//! Looks at all rows of a database and says what does not agree: what is derived is computed anew, by the functions that
//! made it, and compared.
//!
//! The examination is pure, over rows that a shell scanned. The repair is a unit of work that computes again over what the
//! store shows it, so that nothing is put right with numbers that have changed since.

mod rings;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::contract::inbox;
use crate::limits;
use crate::model::{
    Brief, Derived, Edge, EdgeKind, EntryId, Item, ItemId, ItemRef, Project, ProjectId, Question, QuestionState,
    Session,
};
use crate::rank::rank;
use crate::readiness::is_offered;
use crate::store::{
    Around, ChangeSet, EdgeReach, EntryChange, ItemChange, KnowledgeChanges, KnowledgeReach, Scope, Slice, Step,
    Touched, Unit,
};
use crate::workflow::Workflow;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The count of open blockers.
    Blockers,
    /// The count of edges that make an item moot.
    Moot,
    /// The count of open items that it holds up.
    Unblocks,
    /// The place among ready work.
    Rank,
    /// Whether it may be handed out.
    Offered,
    /// Which sections its brief has.
    Brief,
    /// What of it waits for a person.
    Inbox,
    /// How many ancestors it has.
    Depth,
    /// The number that the next item of a project gets.
    NextNumber,
    /// Two items with one key, or one whose project is not there.
    Key,
    /// A parent that is not there, of another project, or beneath its own child.
    Parent,
    /// A status that the workflow does not have, or has with another role or outcome.
    Status,
    /// An edge whose ends are not there, are the same, or that is there twice.
    Edge,
    /// Items that wait for each other.
    Waits,
    /// Items that give way to each other, so that none of them is handed out.
    GivesWay,
    /// A session whose item is not there, that ended otherwise than it says, or beside another that has not ended.
    Session,
    /// The words and tags that an item is found by.
    Search,
    /// The words and facets that an entry of the knowledge is found by.
    Knowledge,
}

/// One thing that does not agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// The item it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// The project it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// What is stored and what would be right.
    pub message: String,
    /// Whether [`Repair`] can put it right.
    pub repairable: bool,
}

/// All rows, as of one moment.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'r> {
    /// Projects.
    pub projects: &'r [Project],
    /// Items.
    pub items: &'r [Item],
    /// Edges.
    pub edges: &'r [Edge],
    /// Briefs.
    pub briefs: &'r [(ItemId, Brief)],
    /// Questions.
    pub questions: &'r [Question],
    /// Sessions.
    pub sessions: &'r [Session],
}

/// Everything that does not agree.
pub fn examine(rows: Rows<'_>) -> Vec<Finding> {
    let mut examination = Examination {
        projects: rows.projects.iter().map(|project| (project.id, project)).collect(),
        items: rows.items.iter().map(|item| (item.id, item)).collect(),
        briefs: rows.briefs.iter().map(|(item, brief)| (*item, brief)).collect(),
        asked: open_questions(rows.questions.iter()),
        found: Vec::new(),
    };
    examination.edges(rows.edges);
    examination.items(rows.items, rows.edges);
    examination.numbers(rows.items);
    examination.waits(rows.items, rows.edges);
    examination.ways(rows.edges);
    examination.sessions(rows.sessions);
    examination.found
}

/// What to say of items that a store does not find by their words and tags.
pub fn unfiled(items: impl IntoIterator<Item = ItemId>) -> Vec<Finding> {
    let finding = |item| Finding {
        check: Check::Search,
        item: Some(item),
        project: None,
        message: "it is not found by its words and tags".to_owned(),
        repairable: true,
    };
    items.into_iter().map(finding).collect()
}

/// What to say of entries that a store does not find by their words and by what they are filed under.
pub fn misfiled(entries: &[EntryId]) -> Vec<Finding> {
    let finding = |entry: &EntryId| Finding {
        check: Check::Knowledge,
        item: None,
        project: None,
        message: format!("the entry {entry} is not found by its words, tags, source and review"),
        repairable: true,
    };
    entries.iter().map(finding).collect()
}

/// Files entries anew, as they stand.
#[derive(Clone, Debug)]
pub struct Refile(Vec<EntryId>);

impl Refile {
    /// The repairs for some entries, in pieces small enough for one commit each.
    pub fn of(entries: &[EntryId]) -> Vec<Self> {
        entries.chunks(limits::BATCH).map(|entries| Self(entries.to_vec())).collect()
    }
}

impl Unit for Refile {
    fn scope(&self) -> Scope {
        let knowledge = KnowledgeReach { entries: self.0.clone(), ..KnowledgeReach::default() };
        Scope { knowledge, ..Scope::default() }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let changed_entries: Vec<EntryChange> = seen
            .knowledge
            .entries
            .values()
            .map(|entry| EntryChange { entry: entry.clone(), read_version: entry.version, words: true, text: false })
            .collect();
        if changed_entries.is_empty() {
            return Step::Nothing;
        }
        let knowledge = KnowledgeChanges { changed_entries, ..KnowledgeChanges::default() };
        Step::Commit(Box::new(ChangeSet { knowledge, ..ChangeSet::default() }))
    }
}

/// The derived numbers of an item, from its brief and question, the edges that touch it and the items at their ends.
pub fn derive<'e>(
    workflow: &Workflow,
    item: &Item,
    brief: Option<&Brief>,
    question_is_open: bool,
    edges: impl Iterator<Item = &'e Edge>,
    look_up: impl Fn(ItemId) -> Option<&'e Item>,
) -> Derived {
    let mut counted = Derived::default();
    for edge in edges {
        let (Some(from), Some(to)) = (look_up(edge.from), look_up(edge.to)) else { continue };
        let effect = edge.effect(from, to);
        if edge.to == item.id {
            counted.blockers += u32::from(effect.blocks_to);
            counted.moot += u32::from(effect.to_is_moot);
        }
        if edge.from == item.id {
            counted.unblocks += u32::from(effect.from_unblocks);
            counted.moot += u32::from(effect.from_is_moot);
        }
    }
    let counted = Derived { sections: brief.map(Brief::sections).unwrap_or_default(), ..counted };
    let item = Item { derived: counted, metadata: None, properties: None, ..item.clone() };
    let counted = Derived { inbox: inbox(workflow, &item, question_is_open), ..counted };
    Derived { rank: rank(workflow, &item), offered: is_offered(workflow, &item), ..counted }
}

fn open_questions<'q>(questions: impl Iterator<Item = &'q Question>) -> BTreeSet<ItemId> {
    questions.filter(|question| question.state == QuestionState::Open).map(|question| question.item).collect()
}

struct Examination<'r> {
    projects: BTreeMap<ProjectId, &'r Project>,
    items: BTreeMap<ItemId, &'r Item>,
    briefs: BTreeMap<ItemId, &'r Brief>,
    /// Items with an open question.
    asked: BTreeSet<ItemId>,
    found: Vec<Finding>,
}

impl<'r> Examination<'r> {
    fn find(&mut self, check: Check, item: Option<ItemId>, project: Option<ProjectId>, message: String) {
        let repairable = match check {
            Check::Blockers
            | Check::Moot
            | Check::Unblocks
            | Check::Rank
            | Check::Offered
            | Check::Brief
            | Check::Inbox
            | Check::Depth
            | Check::NextNumber
            | Check::Search
            | Check::Knowledge => true,
            Check::Key
            | Check::Parent
            | Check::Status
            | Check::Edge
            | Check::Waits
            | Check::GivesWay
            | Check::Session => false,
        };
        self.found.push(Finding { check, item, project, message, repairable });
    }

    fn edges(&mut self, edges: &[Edge]) {
        let mut known: BTreeSet<(EdgeKind, ItemId, ItemId)> = BTreeSet::new();
        for edge in edges {
            let at = self.items.get(&edge.to).map(|item| item.id);
            let whole = self.items.contains_key(&edge.from) && at.is_some();
            let said = format!("edge {} ({} from {} to {})", edge.id, edge.kind.as_str(), edge.from, edge.to);
            if !whole {
                self.find(Check::Edge, at, None, format!("{said}: an item at its end is not there"));
            } else if edge.from == edge.to {
                self.find(Check::Edge, at, None, format!("{said}: both ends are the same item"));
            } else if !known.insert((edge.kind, edge.from, edge.to)) {
                self.find(Check::Edge, at, None, format!("{said}: there is another like it"));
            }
        }
    }

    fn items(&mut self, items: &'r [Item], edges: &'r [Edge]) {
        let mut touching: BTreeMap<ItemId, Vec<&Edge>> = BTreeMap::new();
        for edge in edges {
            touching.entry(edge.from).or_default().push(edge);
            if edge.to != edge.from {
                touching.entry(edge.to).or_default().push(edge);
            }
        }
        for item in items {
            self.place(item);
            let Some(project) = self.projects.get(&item.project).copied() else {
                self.find(Check::Key, Some(item.id), None, format!("its project {} is not there", item.project));
                continue;
            };
            let status = project.workflow.status(&item.status);
            if status.is_none_or(|status| status.role != item.role || status.outcome != item.outcome) {
                // An import would not take it: what is exported and taken in again has a status of its workflow.
                let message = format!(
                    "the workflow has no status \"{}\" with the role {}: move the item to one that it has",
                    item.status, item.role
                );
                self.find(Check::Status, Some(item.id), None, message);
            }
            let edges = touching.get(&item.id).into_iter().flatten().copied();
            let brief = self.briefs.get(&item.id).copied();
            let asked = self.asked.contains(&item.id);
            let right = derive(&project.workflow, item, brief, asked, edges, |id| self.items.get(&id).copied());
            self.compare(item.id, item.derived, right);
        }
    }

    fn compare(&mut self, item: ItemId, stored: Derived, right: Derived) {
        let mut differs = |check, what: &str, stored: i64, right: i64| {
            if stored != right {
                self.find(check, Some(item), None, format!("{what} is stored as {stored}, should be {right}"));
            }
        };
        differs(Check::Blockers, "the count of open blockers", stored.blockers.into(), right.blockers.into());
        differs(Check::Moot, "the count of edges that make it moot", stored.moot.into(), right.moot.into());
        differs(Check::Unblocks, "the count of items it holds up", stored.unblocks.into(), right.unblocks.into());
        differs(Check::Rank, "its place among ready work", stored.rank, right.rank);
        differs(Check::Brief, "what its brief has", stored.sections.0.into(), right.sections.0.into());
        differs(Check::Inbox, "what of it waits for a person", stored.inbox.0.into(), right.inbox.0.into());
        differs(Check::Offered, "whether it is offered", stored.offered.into(), right.offered.into());
    }

    /// Where an item lies in the tree.
    fn place(&mut self, item: &Item) {
        let mut depth = 0_u32;
        let mut next = item.parent;
        while let Some(id) = next {
            let Some(parent) = self.items.get(&id) else {
                self.find(Check::Parent, Some(item.id), None, format!("its ancestor {id} is not there"));
                return;
            };
            if parent.project != item.project {
                self.find(Check::Parent, Some(item.id), None, format!("its ancestor {id} is of another project"));
                return;
            }
            depth += 1;
            if depth > u32::from(limits::DEPTH) {
                self.find(Check::Parent, Some(item.id), None, "it lies beneath itself, or too deep".to_owned());
                return;
            }
            next = parent.parent;
        }
        if u32::from(item.depth) != depth {
            let message = format!("its depth is stored as {}, should be {depth}", item.depth);
            self.find(Check::Depth, Some(item.id), None, message);
        }
    }

    fn numbers(&mut self, items: &[Item]) {
        let mut taken: BTreeSet<(ProjectId, u32)> = BTreeSet::new();
        let mut highest: BTreeMap<ProjectId, u32> = BTreeMap::new();
        for item in items {
            if item.number == 0 || !taken.insert((item.project, item.number)) {
                self.find(Check::Key, Some(item.id), None, format!("its number {} is taken or no number", item.number));
            }
            let most = highest.entry(item.project).or_default();
            *most = item.number.max(*most);
        }
        for (id, project) in self.projects.clone() {
            let least = highest.get(&id).map_or(1, |highest| highest.saturating_add(1));
            if project.next_number < least {
                let message = format!(
                    "the next item of \"{}\" would get the number {}, which is taken; should be {least} or more",
                    project.slug, project.next_number
                );
                self.find(Check::NextNumber, None, Some(id), message);
            }
        }
    }

    fn sessions(&mut self, sessions: &[Session]) {
        let mut open: BTreeSet<ItemId> = BTreeSet::new();
        for session in sessions {
            let said = format!("session {} of {}", session.id, session.actor);
            let item = self.items.get(&session.item).copied();
            let at = item.map(|item| item.id);
            if item.is_none_or(|item| item.project != session.project || item.fence < session.fence) {
                let message = format!("{said}: its item is not there, of another project, or was never claimed for it");
                self.find(Check::Session, at, None, message);
            }
            if !session.ends_as_it_says() {
                self.find(Check::Session, at, None, format!("{said}: its end does not fit its state"));
            }
            if session.is_open() && !open.insert(session.item) {
                self.find(Check::Session, at, None, format!("{said}: another on its item has not ended either"));
            }
        }
    }
}

/// Puts derived numbers, depths, counters and what items are found by right. Whole or not at all, and only what is still
/// wrong.
#[derive(Clone, Debug)]
pub struct Repair {
    items: Vec<ItemId>,
    /// Of those, the ones whose words and tags are written again: a slice does not show what is wrong with them.
    unfiled: BTreeSet<ItemId>,
    projects: BTreeMap<ProjectId, u32>,
}

impl Repair {
    /// The repairs for some findings, in pieces small enough for one commit each.
    pub fn of(findings: &[Finding], items: &[Item]) -> Vec<Self> {
        let wrong = findings.iter().filter(|finding| finding.repairable);
        let broken: BTreeSet<ItemId> = wrong.clone().filter_map(|finding| finding.item).collect();
        let unfiled = wrong.clone().filter(|finding| finding.check == Check::Search);
        let unfiled: BTreeSet<ItemId> = unfiled.filter_map(|finding| finding.item).collect();
        let mut projects: BTreeMap<ProjectId, u32> = BTreeMap::new();
        for project in wrong.filter_map(|finding| finding.project) {
            let highest = items.iter().filter(|item| item.project == project).map(|item| item.number).max();
            projects.insert(project, highest.unwrap_or(0).saturating_add(1));
        }
        let broken: Vec<ItemId> = broken.into_iter().collect();
        let mut repairs: Vec<Self> = broken
            .chunks(limits::BATCH)
            .map(|items| Self {
                items: items.to_vec(),
                unfiled: items.iter().filter(|item| unfiled.contains(item)).copied().collect(),
                projects: BTreeMap::new(),
            })
            .collect();
        if !projects.is_empty() {
            repairs.push(Self { items: Vec::new(), unfiled: BTreeSet::new(), projects });
        }
        repairs
    }
}

impl Unit for Repair {
    fn scope(&self) -> Scope {
        Scope {
            every_project: !self.projects.is_empty(),
            items: self.items.iter().copied().map(ItemRef::Id).collect(),
            around: Around {
                ancestors: true,
                edges: EdgeReach::Named,
                briefs: true,
                questions: true,
                ..Around::default()
            },
            ..Scope::default()
        }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let changed_items: Vec<ItemChange> =
            self.items.iter().filter_map(|id| repaired(seen, *id, self.unfiled.contains(id))).collect();
        let least = self.projects.iter().map(|(id, least)| (*id, *least));
        let next_numbers: BTreeMap<ProjectId, u32> =
            least.filter(|(id, least)| seen.next_numbers.get(id).is_some_and(|next| next < least)).collect();
        if changed_items.is_empty() && next_numbers.is_empty() {
            return Step::Nothing;
        }
        Step::Commit(Box::new(ChangeSet { next_numbers, changed_items, ..ChangeSet::default() }))
    }
}

fn repaired(seen: &Slice, id: ItemId, unfiled: bool) -> Option<ItemChange> {
    let item = seen.items.get(&id)?;
    let project = seen.project_of(item).ok()?;
    let touching = seen.edges.values().filter(|edge| edge.from == id || edge.to == id);
    let asked = seen.question_of(id).is_some_and(|question| question.state == QuestionState::Open);
    let derived = derive(&project.workflow, item, seen.briefs.get(&id), asked, touching, |id| seen.items.get(&id));
    let depth = u8::try_from(seen.ancestors(item).len()).unwrap_or(item.depth);
    let touched = Touched {
        derived: derived != item.derived,
        content: unfiled || depth != item.depth,
        words: unfiled,
        ..Touched::default()
    };
    touched.any().then(|| ItemChange {
        item: Item { depth, derived, ..item.clone() },
        read_version: item.version,
        read_fence: item.fence.0,
        touched,
    })
}
