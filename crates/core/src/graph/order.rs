//! Topological orders of a loaded set.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::ItemId;

/// The set in an order where blockers come before what they block; as given otherwise. Members of a cycle come last.
pub fn topological(set: &[ItemId], edges: &[(ItemId, ItemId)]) -> Vec<ItemId> {
    let members: BTreeSet<ItemId> = set.iter().copied().collect();
    let mut blocked_by: BTreeMap<ItemId, usize> = members.iter().map(|id| (*id, 0)).collect();
    let mut leads_to: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
    for (from, to) in inside(&members, edges) {
        *blocked_by.entry(to).or_default() += 1;
        leads_to.entry(from).or_default().push(to);
    }
    let mut free: VecDeque<ItemId> = set.iter().copied().filter(|id| blocked_by.get(id) == Some(&0)).collect();
    let mut ordered = Vec::with_capacity(set.len());
    let mut placed = BTreeSet::new();
    while let Some(id) = free.pop_front() {
        if !placed.insert(id) {
            continue;
        }
        ordered.push(id);
        for next in leads_to.get(&id).into_iter().flatten() {
            if let Some(count) = blocked_by.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    free.push_back(*next);
                }
            }
        }
    }
    ordered.extend(set.iter().copied().filter(|id| !placed.contains(id)));
    ordered
}

/// The number of edges on the longest way through an acyclic set.
pub fn longest_path(ordered: &[ItemId], edges: &[(ItemId, ItemId)]) -> usize {
    let members: BTreeSet<ItemId> = ordered.iter().copied().collect();
    let mut leads_to: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
    for (from, to) in inside(&members, edges) {
        leads_to.entry(from).or_default().push(to);
    }
    let mut length: BTreeMap<ItemId, usize> = BTreeMap::new();
    for id in ordered {
        let here = length.get(id).copied().unwrap_or(0);
        for next in leads_to.get(id).into_iter().flatten() {
            let there = length.entry(*next).or_default();
            *there = (*there).max(here + 1);
        }
    }
    length.values().copied().max().unwrap_or(0)
}

/// Edges between members, each once.
fn inside(members: &BTreeSet<ItemId>, edges: &[(ItemId, ItemId)]) -> BTreeSet<(ItemId, ItemId)> {
    edges.iter().copied().filter(|(from, to)| members.contains(from) && members.contains(to)).collect()
}
