//! Takes in rows that another database exported: whole or not at all, ids and keys as they were.

mod contract;
mod knowledge;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Gate, Reason};
use crate::graph::{Waits, cycle_error};
use crate::limits;
use crate::model::{
    Brief, Check, Comment, Edge, EdgeKind, Entry, EntryLink, Item, ItemId, ItemRef, Link, Note, Project, ProjectId,
    Question, QuestionState, Session,
};
use crate::store::{KnowledgeReach, Scope, Slice, WaitEdge};

/// Takes in exported rows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Import {
    /// Projects; one that exists already keeps its rules and takes in the items.
    pub projects: Vec<Project>,
    /// Items, in any order.
    pub items: Vec<Item>,
    /// Edges between them.
    pub edges: Vec<Edge>,
    /// Notes on them.
    pub notes: Vec<Note>,
    /// Briefs of them.
    pub briefs: Vec<(ItemId, Brief)>,
    /// Questions on them.
    pub questions: Vec<Question>,
    /// Comments on them.
    pub comments: Vec<Comment>,
    /// Links of theirs.
    pub links: Vec<Link>,
    /// Entries of the knowledge.
    pub entries: Vec<Entry>,
    /// Links of those with the items.
    pub entry_links: Vec<EntryLink>,
    /// Sessions on them.
    pub sessions: Vec<Session>,
}

/// How much was taken in.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "counts of the rows the names say")]
pub struct Imported {
    pub projects: usize,
    pub items: usize,
    pub edges: usize,
    pub notes: usize,
    pub briefs: usize,
    pub questions: usize,
    pub comments: usize,
    pub links: usize,
    pub entries: usize,
    pub entry_links: usize,
    pub sessions: usize,
}

impl Imported {
    /// How many rows there are, projects aside.
    pub fn rows(&self) -> usize {
        let Self {
            projects: _,
            items,
            edges,
            notes,
            briefs,
            questions,
            comments,
            links,
            sessions,
            entries,
            entry_links,
        } = self;
        items + edges + notes + briefs + questions + comments + links + sessions + entries + entry_links
    }
}

impl Command for Import {
    type Output = Imported;
    const NAME: &'static str = "import";
    const NEEDS: Needs = Needs::new(Profile::Maintainer, Reach::Everything);

    fn scope(&self, _call: &Call) -> Scope {
        Scope {
            every_project: true,
            items: self.items.iter().map(|item| ItemRef::Id(item.id)).collect(),
            question_ids: self.questions.iter().map(|question| question.id).collect(),
            link_ids: self.links.iter().map(|link| link.id).collect(),
            knowledge: KnowledgeReach {
                entries: self.entries.iter().map(|entry| entry.id).collect(),
                count: !self.entries.is_empty(),
                ..KnowledgeReach::default()
            },
            session_ids: self.sessions.iter().map(|session| session.id).collect(),
            ..Scope::default()
        }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Imported>, Error> {
        let mut draft = Draft::new(call, seen);
        let projects = self.projects(&mut draft, seen)?;
        self.check_new(seen)?;
        self.check_ids()?;
        let ordered = parents_first(&self.items)?;
        self.check_items(&draft, &ordered, &projects)?;
        self.check_edges()?;
        self.bring_items(&mut draft, &ordered)?;
        // Numbers of items that are gone are not given out again.
        for project in self.projects.iter().filter(|project| !seen.projects.contains_key(&project.id)) {
            draft.pass_number(project.id, project.next_number.saturating_sub(1))?;
        }
        for edge in &self.edges {
            draft.add_edge(edge, None);
        }
        for note in &self.notes {
            draft.put_note(note.item, note.clone(), note.by.as_ref());
        }
        for question in &self.questions {
            draft.bring_question(question.clone());
        }
        for comment in &self.comments {
            draft.bring_comment(comment.clone());
        }
        for link in &self.links {
            draft.bring_link(link.clone());
        }
        self.bring_knowledge(&mut draft, &projects)?;
        for session in &self.sessions {
            draft.bring_session(session.clone());
        }
        Ok(Decision::done(draft.finish(), self.counts()))
    }
}

/// A brief whose checks nobody here has let run: a file that is taken in approves no command.
fn unapproved(brief: &Brief) -> Brief {
    let checks = brief.checks.iter().map(|check| Check { approved: None, ..check.clone() });
    Brief { checks: checks.collect(), ..brief.clone() }
}

impl Import {
    /// How much there is to take in.
    pub fn counts(&self) -> Imported {
        Imported {
            projects: self.projects.len(),
            items: self.items.len(),
            edges: self.edges.len(),
            notes: self.notes.len(),
            briefs: self.briefs.len(),
            questions: self.questions.len(),
            comments: self.comments.len(),
            links: self.links.len(),
            entries: self.entries.len(),
            entry_links: self.entry_links.len(),
            sessions: self.sessions.len(),
        }
    }

    /// Items with their briefs: what they derive from a brief and a question is there from the start.
    fn bring_items(&self, draft: &mut Draft<'_>, ordered: &[&Item]) -> Result<(), Error> {
        let briefs: BTreeMap<ItemId, &Brief> = self.briefs.iter().map(|(item, brief)| (*item, brief)).collect();
        let open = self.questions.iter().filter(|question| question.state == QuestionState::Open);
        let asked: BTreeSet<ItemId> = open.map(|question| question.item).collect();
        for item in ordered {
            let brief = briefs.get(&item.id).copied();
            draft.pass_number(item.project, item.number)?;
            draft.bring_item(Item::clone(item), brief, asked.contains(&item.id));
            if let Some(brief) = brief {
                draft.bring_brief(item.id, unapproved(brief));
            }
        }
        Ok(())
    }

    fn projects(&self, draft: &mut Draft<'_>, seen: &Slice) -> Result<BTreeMap<ProjectId, Project>, Error> {
        let mut known: BTreeMap<ProjectId, Project> =
            seen.projects.iter().map(|(id, project)| (*id, Project::clone(project))).collect();
        for project in &self.projects {
            project.workflow.check().map_err(|invalid| Error::from(invalid.at("workflow")))?;
            if known.contains_key(&project.id) {
                continue;
            }
            if let Some(other) =
                known.values().find(|other| other.slug == project.slug || other.prefix == project.prefix)
            {
                return Err(Error::conflict(
                    Reason::Duplicate,
                    format!(
                        "another project of this database has the slug \"{}\" and the prefix {}",
                        other.slug, other.prefix
                    ),
                ));
            }
            draft.put_project(project.clone());
            known.insert(project.id, project.clone());
        }
        Ok(known)
    }

    fn check_items(
        &self,
        draft: &Draft<'_>,
        ordered: &[&Item],
        projects: &BTreeMap<ProjectId, Project>,
    ) -> Result<(), Error> {
        let by_id: BTreeMap<ItemId, &Item> = ordered.iter().map(|item| (item.id, *item)).collect();
        let mut numbers: BTreeSet<(ProjectId, u32)> = BTreeSet::new();
        for item in ordered {
            let bad =
                |message: String| Err(Error::validation(Reason::BadValue, format!("item {}: {message}", item.id)));
            let Some(project) = projects.get(&item.project) else {
                return bad("its project is not in the file".to_owned());
            };
            let next = draft.seen.next_numbers.get(&item.project).copied().unwrap_or(1);
            if item.number == 0 || item.number < next || !numbers.insert((item.project, item.number)) {
                return bad(format!("the key {} is taken", project.key(item.number)));
            }
            let depth = item.parent.and_then(|parent| by_id.get(&parent)).map_or(0, |parent| parent.depth + 1);
            if item.depth != depth || depth > project.workflow.max_depth {
                return bad(format!("a depth of {} does not fit its parent", item.depth));
            }
            let closed_above =
                item.parent.and_then(|parent| by_id.get(&parent)).is_some_and(|parent| !parent.role.is_open());
            if closed_above && item.role.is_open() && project.workflow.has_gate(Gate::Descendants) {
                return bad("it is open beneath a closed parent".to_owned());
            }
            match project.workflow.status(&item.status) {
                Some(status) if status.role == item.role && status.outcome == item.outcome => {}
                Some(_) | None => {
                    return bad(format!("the workflow has no status \"{}\" of this role and outcome", item.status));
                }
            }
        }
        for note in &self.notes {
            if !by_id.contains_key(&note.item) {
                return Err(Error::validation(
                    Reason::NotFound,
                    format!("note {}: its item is not in the file", note.id),
                ));
            }
        }
        for edge in &self.edges {
            if !by_id.contains_key(&edge.from) || !by_id.contains_key(&edge.to) {
                return Err(Error::validation(
                    Reason::NotFound,
                    format!("edge {}: its ends are not both in the file", edge.id),
                ));
            }
        }
        self.check_contracts(&by_id)?;
        self.check_waits(projects, &by_id)
    }

    /// The same refusal of cycles as for edges made one at a time.
    fn check_waits(
        &self,
        projects: &BTreeMap<ProjectId, Project>,
        by_id: &BTreeMap<ItemId, &Item>,
    ) -> Result<(), Error> {
        let waits_below = |item: &Item| {
            projects.get(&item.project).is_some_and(|project| project.workflow.has_gate(Gate::Descendants))
        };
        let mut waits = Waits::new(None, true)?;
        for item in by_id.values().filter(|item| waits_below(item)) {
            if let Some(parent) = item.parent {
                waits.add_child(parent, item.id);
            }
        }
        for edge in self.edges.iter().filter(|edge| edge.kind == EdgeKind::Blocks) {
            waits.add_edge(WaitEdge { from: edge.from, to: edge.to, threshold: edge.threshold() });
        }
        let name = |id: ItemId| {
            let key = by_id.get(&id).and_then(|item| Some(projects.get(&item.project)?.key(item.number)));
            Some(key.map_or_else(|| id.to_string(), |key| key.to_string()))
        };
        waits.find_cycle().map_or(Ok(()), |path| Err(cycle_error(&path, name)))
    }

    fn check_edges(&self) -> Result<(), Error> {
        let mut known = BTreeSet::new();
        let mut touching: BTreeMap<ItemId, usize> = BTreeMap::new();
        for edge in &self.edges {
            for end in [edge.from, edge.to] {
                let count = touching.entry(end).or_default();
                *count += 1;
                if *count > limits::EDGES {
                    let message = format!("item {end}: it may have at most {} edges", limits::EDGES);
                    return Err(Error::validation(Reason::TooMany, message));
                }
            }
            if edge.from == edge.to || !known.insert((edge.kind, edge.from, edge.to)) {
                return Err(Error::validation(
                    Reason::Duplicate,
                    format!("edge {} repeats another or has one end twice", edge.id),
                ));
            }
        }
        Ok(())
    }
}

/// Items with every parent before its children; refuses a parent that is missing and a circle of parents.
fn parents_first(items: &[Item]) -> Result<Vec<&Item>, Error> {
    let mut by_parent: BTreeMap<Option<ItemId>, Vec<&Item>> = BTreeMap::new();
    for item in items {
        by_parent.entry(item.parent).or_default().push(item);
    }
    let mut ordered: Vec<&Item> = by_parent.remove(&None).unwrap_or_default();
    let mut index = 0;
    while let Some(item) = ordered.get(index).copied() {
        ordered.extend(by_parent.remove(&Some(item.id)).unwrap_or_default());
        index += 1;
    }
    if ordered.len() == items.len() {
        return Ok(ordered);
    }
    let stray = by_parent.values().flatten().next().map_or_else(String::new, |item| item.id.to_string());
    Err(Error::validation(
        Reason::NotFound,
        format!("item {stray}: its parent is not in the file, or parents form a circle"),
    ))
}
