//! Who runs commands for [`super::costs`] and counts what they ask of the database, with the words that the story needs often.

use std::collections::BTreeMap;

use docket_core::command::{
    Advance, Claim, ClaimRequest, Create, EdgeSpec, Learning, Link, MoveRequest, NewCheck, NewItem, NewLink, NotePut,
    OrderRuns, PutNotes, Remark, SetChecks,
};
use docket_core::engine::{Call, Command, Engine};
use docket_core::model::{Authority, CheckKind, Definition, EdgeKind, ItemId, ItemRef, Project, Text, Trigger, Url};
use docket_core::store::ProjectRef;
use docket_core::testing::title;
use docket_core::workflow::Target;

use super::support::{Bench, name, new_uuid};

pub(super) fn text(text: &str) -> Text {
    Text::parse(text).expect("a text")
}

/// Runs commands and counts what each asks of the database.
pub(super) struct Teller<'b> {
    pub(super) bench: &'b Bench,
    pub(super) engine: Engine,
    pub(super) project: Project,
    pub(super) size: usize,
    pub(super) costs: BTreeMap<&'static str, u64>,
}

impl Teller<'_> {
    pub(super) fn any(&self) -> ProjectRef {
        ProjectRef::Id(self.project.id)
    }

    pub(super) async fn quietly<C: Command>(&self, command: C) -> C::Output {
        self.by("ann", command).await
    }

    pub(super) async fn by<C: Command>(&self, who: &str, command: C) -> C::Output {
        let call = Call::new(name(who), new_uuid().as_u128());
        self.engine.run(call, command).await.unwrap_or_else(|error| panic!("{}: {error:?}", C::NAME))
    }

    /// Runs a command, and remembers what it cost.
    pub(super) async fn run<C: Command>(&mut self, command: C) -> C::Output {
        self.run_by("ann", command).await
    }

    pub(super) async fn run_by<C: Command>(&mut self, who: &str, command: C) -> C::Output {
        let before = self.bench.store.statements();
        let done = self.by(who, command).await;
        self.costs.insert(C::NAME, self.bench.store.statements() - before);
        done
    }

    pub(super) fn create(&self, items: Vec<NewItem>) -> Create {
        Create {
            project: self.any(),
            items,
            edges: vec![],
            notes: vec![],
            blank_notes: false,
            room_below: false,
            atomic: true,
        }
    }

    /// An item alone.
    pub(super) async fn item(&self, words: &str) -> ItemId {
        let made = self.quietly(self.create(vec![NewItem::titled(title(words))])).await;
        made.items.into_iter().flatten().next().expect("an item").item.id
    }

    /// An item with as many notes and edges as there are to be rows.
    pub(super) async fn busy(&self, words: &str) -> ItemId {
        let item = self.item(words).await;
        let notes = (0..self.size).map(|number| jot(item, &format!("n{number}"))).collect();
        self.quietly(PutNotes { project: self.any(), notes, atomic: true }).await;
        let ends = (0..self.size).map(|number| NewItem::titled(title(&format!("end {number}")))).collect();
        let ends = self.quietly(self.create(ends)).await;
        let edges = ends.items.into_iter().flatten().map(|end| relates(item, end.item.id)).collect();
        self.quietly(Link { project: self.any(), edges, holding: None }).await;
        item
    }

    pub(super) fn advance(&self, items: impl IntoIterator<Item = ItemId>, trigger: Trigger) -> Advance {
        let moves = items.into_iter().map(|item| MoveRequest::of(item.into(), Target::Trigger(trigger))).collect();
        Advance { project: self.any(), moves, atomic: true }
    }

    pub(super) fn remark(&self, item: ItemId) -> Remark {
        let url = |number: usize| Url::parse(&format!("https://example.com/{number}")).expect("an address");
        let link = |number: usize| NewLink {
            kind: name("page"),
            reference: name(&format!("{number}")),
            url: url(number),
            title: None,
        };
        let links = (0..self.size).map(link).collect();
        Remark { project: self.any(), item: item.into(), comment: Some(text("words")), links, fence: None }
    }

    pub(super) fn claim(&self, items: &[ItemId], releases: &[ItemId]) -> Claim {
        Claim {
            project: self.any(),
            claims: items.iter().map(|item| ClaimRequest { item: (*item).into(), ttl: None }).collect(),
            releases: releases.iter().map(|item| (*item).into()).collect(),
            ready_only: false,
        }
    }

    pub(super) fn learnings(&self) -> Vec<Learning> {
        let learning = |number: usize| Learning {
            title: title(&format!("{} learned {number}", self.project.slug)),
            body: text(&format!("words of {} and {number}", self.project.slug)),
            tags: vec![],
        };
        (0..self.size).map(learning).collect()
    }

    pub(super) fn checks(&self, item: ItemId) -> SetChecks {
        let check = |number: usize| NewCheck {
            desc: text(&format!("check {number}")),
            kind: if number == 0 { CheckKind::Manual } else { command(number) },
            proves: None,
        };
        SetChecks {
            project: self.any(),
            item: item.into(),
            checks: (0..self.size).map(check).collect(),
            add: false,
            expected_version: None,
            fence: None,
            authority: Authority::Agent,
        }
    }

    pub(super) fn order(&self, item: ItemId) -> OrderRuns {
        OrderRuns {
            project: self.any(),
            item: item.into(),
            only: vec![],
            again: false,
            unchanged: vec![],
            runner: None,
            allowed: (1..self.size).map(definition).collect(),
        }
    }
}

pub(super) fn relates(from: ItemId, to: ItemId) -> EdgeSpec {
    let (from, to): (ItemRef, ItemRef) = (from.into(), to.into());
    EdgeSpec { from, to, kind: EdgeKind::RelatesTo, unblock_at: None, inverse: false }
}

pub(super) fn command(number: usize) -> CheckKind {
    CheckKind::Command { cmd: text(&format!("true {number}")), cwd: None, timeout_seconds: None }
}

pub(super) fn definition(number: usize) -> Definition {
    Definition::of(&text(&format!("check {number}")), &command(number))
}

pub(super) fn jot(item: ItemId, key: &str) -> NotePut {
    NotePut { item: item.into(), key: name(key), phase: None, body: text("words"), by: None, fence: None }
}
