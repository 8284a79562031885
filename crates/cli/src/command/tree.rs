//! `docket tree`: items with what lies beneath them.

use std::collections::BTreeMap;

use docket_core::limits;
use docket_core::model::{Item, ItemId, ItemRef, Timestamp};
use docket_core::store::{Around, Filter, Order, ProjectRef, Slice, SortBy};
use serde::Serialize;
use serde_json::Value;

use super::{listing, values};
use crate::exit::Failure;
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

/// Most items of one tree.
const MOST: usize = 1000;

const EXAMPLES: &str = "\
Examples:
  docket tree                              the whole project
  docket tree WEB-3 --all                  one item and what lies beneath it, closed items too";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The item to begin with [default: all roots]
    item: Option<String>,
    /// Also what is closed
    #[arg(long)]
    all: bool,
}

/// An item with what lies beneath it.
#[derive(Serialize)]
struct Branch {
    #[serde(flatten)]
    item: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Branch>,
}

/// Some trees.
#[derive(Serialize)]
struct Forest {
    roots: Vec<Branch>,
    truncated: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = args.item.as_deref().map(values::item).transpose()?;
    let session = shell.session(Access::Read).await?;
    let around = Around { subtree: Some(MOST), ..Around::default() };
    let (roots, seen, cut) = if let Some(item) = &item {
        let seen = session.engine.show(&session.scope(), std::slice::from_ref(item), around).await?;
        (vec![seen.resolve(item)?.id], seen, false)
    } else {
        let filter = Filter {
            project: session.project_ref()?,
            parent: Some(None),
            sort: SortBy::CreatedAt,
            order: Order::Asc,
            limit: limits::PAGE,
            count: true,
            ..Filter::default()
        };
        let found = session.engine.find(&filter).await?;
        let named: Vec<ItemRef> = found.items.iter().map(|item| ItemRef::Id(item.id)).collect();
        let seen = session.engine.show(&ProjectRef::Any, &named, around).await?;
        (found.items.iter().map(|item| item.id).collect(), seen, found.total > found.items.len() as u64)
    };
    let tree = Tree::new(&seen, args.all);
    let forest = Forest {
        roots: roots.iter().filter_map(|id| tree.branch(&session, *id).transpose()).collect::<Result<_, _>>()?,
        truncated: cut || seen.subtree.truncated,
    };
    shell.out.answer(&forest, |paint| {
        let mut lines = Vec::new();
        for root in roots {
            tree.lines(&session, root, "", "", paint, &mut lines);
        }
        if lines.is_empty() {
            lines.push(paint.dim("nothing open here; --all shows what is closed"));
        }
        if forest.truncated {
            lines.push(paint.dim("there is more than is shown: name an item to see beneath it"));
        }
        lines
    })
}

/// What is shown, by parent.
struct Tree<'s> {
    items: &'s BTreeMap<ItemId, Item>,
    children: BTreeMap<ItemId, Vec<ItemId>>,
    now: Timestamp,
    all: bool,
}

impl<'s> Tree<'s> {
    fn new(seen: &'s Slice, all: bool) -> Self {
        let mut children: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
        for item in seen.subtree.rows.iter().filter_map(|id| seen.items.get(id)) {
            if let Some(parent) = item.parent {
                children.entry(parent).or_default().push(item.id);
            }
        }
        for siblings in children.values_mut() {
            siblings.sort_by_key(|id| seen.items.get(id).map(|item| item.number));
        }
        Self { items: &seen.items, children, now: seen.now, all }
    }

    /// The item, if it or anything beneath it is to be shown.
    fn shown(&self, id: ItemId) -> Option<&'s Item> {
        let item = self.items.get(&id)?;
        let beneath = || self.children.get(&id).into_iter().flatten().any(|child| self.shown(*child).is_some());
        (self.all || item.role.is_open() || beneath()).then_some(item)
    }

    fn below(&self, id: ItemId) -> Vec<ItemId> {
        self.children.get(&id).into_iter().flatten().copied().filter(|child| self.shown(*child).is_some()).collect()
    }

    fn branch(&self, session: &Session, id: ItemId) -> Result<Option<Branch>, Failure> {
        let Some(item) = self.shown(id) else { return Ok(None) };
        let children = self.below(id).into_iter().filter_map(|child| self.branch(session, child).transpose());
        Ok(Some(Branch { item: listing::listed(session, item)?, children: children.collect::<Result<_, _>>()? }))
    }

    fn lines(&self, session: &Session, id: ItemId, first: &str, rest: &str, paint: Paint, lines: &mut Vec<String>) {
        let Some(item) = self.shown(id) else { return };
        let remarks = listing::remarks(item, self.now);
        let state = [item.status.as_str(), &remarks].join(if remarks.is_empty() { "" } else { ", " });
        lines.push(format!(
            "{}{} {}  {}",
            paint.dim(first),
            paint.key(&session.key(item).to_string()),
            escape::line(item.title.as_str()),
            paint.dim(&format!("({})", escape::line(&state)))
        ));
        let below = self.below(id);
        for (index, child) in below.iter().enumerate() {
            let (branch, on) = if index + 1 == below.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.lines(session, *child, &format!("{rest}{branch}"), &format!("{rest}{on}"), paint, lines);
        }
    }
}
