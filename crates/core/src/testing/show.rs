//! What a scope shows of a world.

use std::collections::BTreeSet;

use super::World;
use crate::model::{Comment, Edge, EdgeKind, Item, ItemId, Question, Role, Session};
use crate::store::{Capped, EdgeReach, NoteReach, Scope, Slice, WaitEdge, WaitGraph, WayGraph, fitting};

impl World {
    pub(super) fn around(
        &self,
        scope: &Scope,
        named: &BTreeSet<ItemId>,
        shown: &mut BTreeSet<ItemId>,
        seen: &mut Slice,
    ) {
        let around = scope.around;
        if around.ancestors {
            for id in named {
                let mut next = self.items[id].parent;
                while let Some(parent) = next {
                    shown.insert(parent);
                    next = self.items[&parent].parent;
                }
            }
        }
        if let Some(limit) = around.open_children {
            for id in shown.iter() {
                let open = self.items.values().filter(|item| item.parent == Some(*id) && item.role.is_open());
                seen.open_children.insert(*id, Capped::cut(open.map(|item| item.id).collect(), limit));
            }
        }
        if let Some(limit) = around.subtree {
            let mut all = Vec::new();
            for below in named.iter().flat_map(|id| self.beneath(*id)) {
                if !all.contains(&below) {
                    all.push(below);
                }
            }
            let fits = around.subtree_bytes.map(|bytes| fitting(all.iter().map(|id| &self.items[id]), bytes));
            seen.subtree = Capped::cut(all, fits.map_or(limit, |fits| fits.min(limit)));
            shown.extend(&seen.subtree.rows);
        }
        self.show_notes(scope, named, shown, seen);
        self.show_contracts(scope, named, shown, seen);
        let reach: BTreeSet<ItemId> = match around.edges {
            EdgeReach::None | EdgeReach::Counted => BTreeSet::new(),
            EdgeReach::Named => named.clone(),
            EdgeReach::Shown => shown.clone(),
        };
        for edge in self.edges.values().filter(|edge| reach.contains(&edge.from) || reach.contains(&edge.to)) {
            seen.edges.insert(edge.id, edge.clone());
            shown.extend([edge.from, edge.to]);
        }
        let touch = |id: &ItemId| (*id, self.edges.values().filter(|edge| edge.from == *id || edge.to == *id).count());
        let counted = around.edges == EdgeReach::Counted;
        seen.degrees = named.iter().filter(|_| counted).map(touch).collect();
        if around.waits {
            seen.waits = Some(self.wait_graph(Some(named)));
        }
        if around.gives_way {
            seen.gives_way = Some(Box::new(self.way_graph(named)));
        }
    }

    fn show_notes(&self, scope: &Scope, named: &BTreeSet<ItemId>, shown: &BTreeSet<ItemId>, seen: &mut Slice) {
        for note in self.notes.values() {
            let with_heads = scope.around.notes == NoteReach::Heads && shown.contains(&note.item);
            if with_heads || (scope.note_ids.contains(&note.id) && shown.contains(&note.item)) {
                seen.note_heads.entry(note.item).or_default().push(note.head());
            }
            if scope.around.notes == NoteReach::Bodies && named.contains(&note.item) {
                seen.notes.push(note.clone());
            }
        }
    }

    fn show_contracts(&self, scope: &Scope, named: &BTreeSet<ItemId>, shown: &BTreeSet<ItemId>, seen: &mut Slice) {
        let around = scope.around;
        let briefs = self.briefs.iter().filter(|(item, _)| around.briefs && shown.contains(item));
        seen.briefs.extend(briefs.map(|(item, brief)| (*item, brief.clone())));
        for question in self.questions.values() {
            let newer = |other: &&Question| other.item == question.item && other.id > question.id;
            let newest = !self.questions.values().any(|other| newer(&other));
            let wanted = around.questions && named.contains(&question.item) && newest;
            if wanted || (scope.question_ids.contains(&question.id) && shown.contains(&question.item)) {
                seen.questions.insert(question.id, question.clone());
            }
        }
        if let Some(limit) = around.comments {
            for item in named {
                let on = self.comments.values().rev().filter(|comment| comment.item == *item);
                let comments: Vec<Comment> = on.cloned().collect();
                if !comments.is_empty() {
                    seen.comments.insert(*item, Capped::cut(comments, limit));
                }
            }
        }
        for session in self.sessions.values() {
            let newer = |other: &Session| other.item == session.item && other.id > session.id;
            let newest = !self.sessions.values().any(newer);
            let wanted = around.sessions && named.contains(&session.item) && newest;
            if wanted || (scope.session_ids.contains(&session.id) && shown.contains(&session.item)) {
                seen.sessions.insert(session.id, session.clone());
            }
        }
        let visible =
            |item: &ItemId| scope.visible.as_ref().is_none_or(|seen| seen.contains(&self.items[item].project));
        for run in self.runs.values() {
            let open = around.open_runs && named.contains(&run.item) && run.state.is_open();
            if open || (scope.run_ids.contains(&run.id) && visible(&run.item)) {
                seen.runs.insert(run.id, run.clone());
            }
        }
        for link in self.links.values() {
            let wanted = around.links && named.contains(&link.item);
            if wanted || (scope.link_ids.contains(&link.id) && shown.contains(&link.item)) {
                seen.links.insert(link.id, link.clone());
            }
        }
    }

    fn beneath(&self, id: ItemId) -> Vec<ItemId> {
        let mut found = vec![id];
        let mut index = 0;
        while let Some(next) = found.get(index).copied() {
            found.extend(self.items.values().filter(|item| item.parent == Some(next)).map(|item| item.id));
            index += 1;
        }
        found.remove(0);
        found
    }

    pub(super) fn wait_graph(&self, from: Option<&BTreeSet<ItemId>>) -> WaitGraph {
        let mut graph = WaitGraph::default();
        let mut reached: Vec<ItemId> =
            from.map_or_else(|| self.items.keys().copied().collect(), |named| named.iter().copied().collect());
        let mut index = 0;
        while let Some(id) = reached.get(index).copied() {
            for edge in self.edges.values().filter(|edge| edge.kind == EdgeKind::Blocks && edge.from == id) {
                graph.edges.push(WaitEdge { from: edge.from, to: edge.to, threshold: edge.threshold() });
                if !reached.contains(&edge.to) {
                    reached.push(edge.to);
                }
            }
            if let Some(parent) = self.items.get(&id).and_then(|item| item.parent) {
                graph.children.push((parent, id));
                if !reached.contains(&parent) {
                    reached.push(parent);
                }
            }
            index += 1;
        }
        graph
    }

    fn way_graph(&self, named: &BTreeSet<ItemId>) -> WayGraph {
        let mut graph = WayGraph::default();
        let mut reached: Vec<ItemId> = named.iter().copied().collect();
        let mut index = 0;
        while let Some(id) = reached.get(index).copied() {
            for (_, to) in self.edges.values().filter_map(Edge::gives_way).filter(|(item, _)| *item == id) {
                graph.pairs.push((id, to));
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
            index += 1;
        }
        graph
    }

    pub(super) fn candidates(&self, scope: &Scope, shown: &mut BTreeSet<ItemId>, seen: &mut Slice) {
        let (Some(wanted), Some(project)) = (&scope.candidates, seen.project) else { return };
        let beneath = wanted.under.map(|id| self.beneath(id));
        let mut found: Vec<&Item> = self
            .items
            .values()
            .filter(|item| item.project == project)
            .filter(|item| {
                let left = item.role == Role::Work && item.fence.0 > 0 && item.derived.offered;
                wanted.role == Some(item.role) || wanted.left && left
            })
            .filter(|item| if wanted.offered_only { item.derived.offered } else { item.derived.blockers == 0 })
            .filter(|item| wanted.include_claimed || item.live_claim(self.now).is_none())
            .filter(|item| wanted.parent.is_none_or(|parent| item.parent == Some(parent)))
            .filter(|item| beneath.as_ref().is_none_or(|ids| ids.contains(&item.id)))
            .filter(|item| wanted.tags.is_empty() || item.tags.iter().any(|tag| wanted.tags.contains(tag)))
            .filter(|item| wanted.item_type.as_ref().is_none_or(|kind| item.item_type.as_ref() == Some(kind)))
            .filter(|item| wanted.urgent.is_none_or(|least| item.priority <= least))
            .filter(|item| wanted.after.is_none_or(|after| (item.derived.rank, item.number, item.project) > after))
            .collect();
        match wanted.urgent {
            None => found.sort_by_key(|item| (item.derived.rank, item.number)),
            Some(_) => found.sort_by_key(|item| (item.priority, item.created_at, item.id)),
        }
        seen.candidates = Capped::cut(found.into_iter().map(|item| item.id).collect(), wanted.limit);
        shown.extend(&seen.candidates.rows);
    }
}
