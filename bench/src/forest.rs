//! Items by the million, made without a database's help: half of them closed, an edge for every third, five levels deep.
//!
//! Everything follows from an item's number, so a part of the bench can name any item of a database made earlier. Items
//! come in trees of forty; every eleventh tree is closed, in the others the deepest level and what lies above it are. All
//! branches of an open tree are in progress, so that starting a leaf moves that leaf alone, at every size.

use anyhow::{Result, ensure};
use docket_core::command::Import;
use docket_core::model::{
    Derived, Edge, EdgeId, EdgeKind, Fence, Item, ItemId, Name, Outcome, Priority, Project, Role, Summary, Timestamp,
    Title,
};
use uuid::Uuid;

use crate::base::{Base, call, name};

/// Items of one tree.
pub(crate) const TREE: u32 = 40;
/// Trees taken in with one commit.
const TREES_AT_ONCE: u32 = 50;
/// Every so many trees, one is closed.
const CLOSED_TREES: u32 = 11;
/// The leaves of a tree that stay open, by their place in it.
const OPEN_LEAVES: [u32; 9] = [14, 16, 18, 20, 22, 24, 26, 28, 30];
/// A word that few items have, and how many.
pub(crate) const RARE_WORD: &str = "quokka";
pub(crate) const RARE: u32 = 10;
/// When the first item was made: in the past, so that ids and times grow as they do in life.
const BIRTH_MS: i64 = 1_700_000_000_000;
const WORDS: [&str; 16] = [
    "parser", "cache", "login", "report", "queue", "index", "socket", "ledger", "invoice", "worker", "budget",
    "router", "schema", "backup", "layout", "filter",
];

/// Fills an empty database with a forest of so many items.
pub(crate) async fn plant(base: &Base, items: u32) -> Result<()> {
    ensure!(items.is_multiple_of(TREE), "a forest is made of whole trees");
    let trees = items / TREE;
    let maker = Maker::new(&base.project, items)?;
    for first in (0..trees).step_by(TREES_AT_ONCE as usize) {
        let mut import = maker.import();
        for tree in first..trees.min(first + TREES_AT_ONCE) {
            maker.tree(tree, &mut import)?;
        }
        base.engine.run(call()?, import).await?;
    }
    Ok(())
}

/// Fills a database with plain ready items and nothing else.
pub(crate) async fn sow(base: &Base, items: u32) -> Result<()> {
    let maker = Maker::new(&base.project, items)?;
    let numbers: Vec<u32> = (1..=items).collect();
    for numbers in numbers.chunks((TREE * TREES_AT_ONCE) as usize) {
        let mut import = maker.import();
        for number in numbers {
            import.items.push(maker.item(*number, None, Role::Queue)?);
        }
        base.engine.run(call()?, import).await?;
    }
    Ok(())
}

/// Fills a database with urgent work that waits, a hundred items for one blocker each, and then with ready items.
pub(crate) async fn sow_behind(base: &Base, blocked: u32, ready: u32) -> Result<()> {
    const WAITING: u32 = 100;
    let group = WAITING + 1;
    let maker = Maker::new(&base.project, blocked + ready)?;
    let mut first = 1;
    for _ in 0..blocked / WAITING / 20 {
        let mut import = maker.import();
        for _ in 0..20 {
            // Whoever holds others up has the lowest priority, so that ready work is found elsewhere.
            let first_item = Item { priority: Priority::Low, ..maker.item(first, None, Role::Queue)? };
            for number in first + 1..first + group {
                import.items.push(Item { priority: Priority::High, ..maker.item(number, None, Role::Queue)? });
                import.edges.push(edge(first, number));
            }
            import.items.push(first_item);
            first += group;
        }
        base.engine.run(call()?, import).await?;
    }
    let numbers: Vec<u32> = (first..first + ready).collect();
    for numbers in numbers.chunks((TREE * TREES_AT_ONCE) as usize) {
        let items = numbers.iter().map(|number| maker.item(*number, None, Role::Queue)).collect::<Result<_>>()?;
        base.engine.run(call()?, Import { items, ..maker.import() }).await?;
    }
    Ok(())
}

/// The id of the item with this number.
pub(crate) fn id(number: u32) -> ItemId {
    ItemId::from_uuid(uuid(number, 0))
}

/// The numbers of open leaves that nothing blocks and that hold up nothing, so many, from all over a forest.
pub(crate) fn startable(items: u32, wanted: usize) -> Vec<u32> {
    let open: Vec<u32> = (0..items / TREE).filter(|tree| !is_closed(*tree)).collect();
    let step = (open.len() / wanted).max(1);
    let last = OPEN_LEAVES[OPEN_LEAVES.len() - 1];
    open.into_iter().step_by(step).take(wanted).map(|tree| tree * TREE + 1 + last).collect()
}

struct Maker<'p> {
    project: &'p Project,
    items: u32,
    queue: Name,
    work: Name,
    done: Name,
}

impl<'p> Maker<'p> {
    fn new(project: &'p Project, items: u32) -> Result<Self> {
        Ok(Self { project, items, queue: name("ready")?, work: name("in_progress")?, done: name("done")? })
    }

    /// An import into the project, without items as yet.
    fn import(&self) -> Import {
        Import { projects: vec![self.project.clone()], ..Import::default() }
    }

    /// A root, 3 beneath it, 9 beneath those, 18 beneath those, and one beneath every other of those.
    fn tree(&self, tree: u32, import: &mut Import) -> Result<()> {
        let first = tree * TREE + 1;
        for place in 0..TREE {
            let parent = match place {
                0 => None,
                1..=3 => Some((0, 1)),
                4..=12 => Some(((place - 4) / 3 + 1, 2)),
                13..=30 => Some(((place - 13) / 2 + 4, 3)),
                _ => Some(((place - 31) * 2 + 13, 4)),
            };
            let parent = parent.map(|(above, depth)| (first + above, depth));
            let role = match place {
                _ if is_closed(tree) => Role::Terminal,
                0..=12 => Role::Work,
                _ if OPEN_LEAVES.contains(&place) => Role::Queue,
                _ => Role::Terminal,
            };
            import.items.push(self.item(first + place, parent, role)?);
        }
        // Each open leaf waited for its closed neighbour; every other one still waits for the leaf before it.
        import.edges.extend(OPEN_LEAVES.iter().map(|leaf| edge(first + leaf - 1, first + leaf)));
        import.edges.extend(OPEN_LEAVES.chunks_exact(2).map(|pair| edge(first + pair[0], first + pair[1])));
        Ok(())
    }

    fn item(&self, number: u32, parent: Option<(u32, u8)>, role: Role) -> Result<Item> {
        let at = Timestamp::from_millis(BIRTH_MS + i64::from(number));
        let word = |salt: u32| WORDS[(number.wrapping_mul(2_654_435_761).rotate_left(salt) % 16) as usize];
        let rare = if number.is_multiple_of(self.items / RARE) { RARE_WORD } else { word(3) };
        let title = format!("Change the {} of {} {number}", word(7), word(12));
        let summary =
            format!("The {rare} must keep its {} when the {} is slow; see the {}.", word(17), word(22), word(27));
        let (status, outcome) = match role {
            Role::Terminal => (&self.done, Some(Outcome::Success)),
            Role::Work => (&self.work, None),
            Role::Queue | Role::Review | Role::Blocked => (&self.queue, None),
        };
        Ok(Item {
            id: id(number),
            project: self.project.id,
            number,
            parent: parent.map(|(parent, _)| id(parent)),
            depth: parent.map_or(0, |(_, depth)| depth),
            title: Title::parse(&title).map_err(docket_core::Error::from)?,
            description: None,
            summary: Summary::parse(&summary).map_err(docket_core::Error::from)?,
            intent: None,
            status: status.clone(),
            role,
            outcome,
            previous_status: None,
            status_label: None,
            priority: Priority::Medium,
            complexity: None,
            item_type: None,
            tags: Vec::new(),
            traits: Vec::new(),
            metadata: None,
            properties: None,
            requires_verification: false,
            attention: None,
            due_at: None,
            estimate_minutes: None,
            position: None,
            touches: Vec::new(),
            needs: Vec::new(),
            required_capabilities: Vec::new(),
            claim: None,
            fence: Fence::default(),
            version: 1,
            created_at: at,
            modified_at: at,
            role_changed_at: at,
            derived: Derived::default(),
        })
    }
}

fn is_closed(tree: u32) -> bool {
    tree.is_multiple_of(CLOSED_TREES)
}

fn edge(from: u32, to: u32) -> Edge {
    Edge {
        id: EdgeId::from_uuid(uuid(to, from)),
        kind: EdgeKind::Blocks,
        from: id(from),
        to: id(to),
        unblock_at: None,
        inverse: false,
        created_at: Timestamp::from_millis(BIRTH_MS + i64::from(to)),
    }
}

/// A UUID of version 7 that grows with the number, as if a few items were made every millisecond.
fn uuid(number: u32, other: u32) -> Uuid {
    let millis = u128::from(BIRTH_MS.unsigned_abs()) + u128::from(number / 4);
    let order = u128::from(number % 4);
    let noise = u128::from(number.wrapping_mul(2_654_435_761)) << 29 ^ u128::from(other);
    Uuid::from_u128(millis << 80 | 0x7 << 76 | order << 64 | 0x2 << 62 | noise)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_differ_and_grow() {
        let ids: Vec<Uuid> = (1..10_000).map(|number| uuid(number, 0)).collect();
        assert!(ids.is_sorted());
        let both: BTreeSet<Uuid> = (1..10_000).flat_map(|number| [uuid(number, 0), uuid(number, number + 1)]).collect();
        assert_eq!(both.len(), 2 * ids.len());
    }

    #[test]
    fn leaves_to_start_lie_all_over() {
        assert_eq!(startable(1_000, 8).len(), 8);
        let numbers = startable(1_000_000, 100);
        assert_eq!(numbers.len(), 100);
        assert!(numbers[99] > 900_000);
    }
}
