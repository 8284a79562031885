//! The doctor: silent over what commands made, and loud over every kind of damage.
//!
//! Planted bug it catches: any change of `derive` that the draft does not follow makes the first test fail.

use docket_core::doctor::{Check, Finding, Repair, Rows, examine};
use docket_core::model::{
    Brief, Edge, EdgeId, EdgeKind, Fence, Inbox, Item, ItemId, Project, Question, Role, Sections, Session,
    SessionState, Text,
};
use docket_core::store::{Step, Unit};
use docket_core::testing::World;
use docket_core::testing::acts::{Act, Dice, perform, schemas};
use docket_core::testing::rows::{question, session};
use docket_core::workflow::Workflow;

fn busy_world(workflow: Workflow, seed: u64) -> World {
    let mut world = World::new(workflow, schemas());
    let mut dice = Dice::new(seed);
    for _ in 0..200 {
        let act = Act::random(&mut dice);
        perform(&mut world, &act);
    }
    world
}

fn look(world: &World) -> Vec<Finding> {
    let projects: Vec<Project> = world.projects.values().cloned().collect();
    let items: Vec<Item> = world.items.values().cloned().collect();
    let edges: Vec<Edge> = world.edges.values().cloned().collect();
    let briefs: Vec<(ItemId, Brief)> = world.briefs.clone().into_iter().collect();
    let questions: Vec<Question> = world.questions.values().cloned().collect();
    let sessions: Vec<Session> = world.sessions.values().cloned().collect();
    examine(Rows {
        projects: &projects,
        items: &items,
        edges: &edges,
        briefs: &briefs,
        questions: &questions,
        sessions: &sessions,
    })
}

fn checks(world: &World) -> Vec<Check> {
    let mut checks: Vec<Check> = look(world).into_iter().map(|finding| finding.check).collect();
    checks.sort_unstable();
    checks.dedup();
    checks
}

fn any_item(world: &World) -> ItemId {
    // One about which nothing was said yet, so that whatever is said of it is damage.
    let quiet = |item: &&Item| item.derived.sections.0 == 0 && !item.derived.inbox.waits() && item.attention.is_none();
    world.items.values().find(quiet).expect("an item").id
}

#[test]
fn what_commands_made_agrees() {
    for workflow in [Workflow::standard(), Workflow::task_orchestrator()] {
        for seed in 0..20 {
            let world = busy_world(workflow.clone(), seed);
            assert!(world.items.len() > 2, "the world is too small to mean anything");
            assert_eq!(look(&world), Vec::new(), "seed {seed}");
        }
    }
}

#[test]
fn every_kind_of_damage_is_found() {
    type Damage = fn(&mut World, ItemId);
    let damages: [(Check, Damage); 18] = [
        (Check::Blockers, |world, id| item(world, id).derived.blockers += 1),
        (Check::Moot, |world, id| item(world, id).derived.moot += 1),
        (Check::Unblocks, |world, id| item(world, id).derived.unblocks += 1),
        (Check::Rank, |world, id| item(world, id).derived.rank += 1),
        (Check::Offered, |world, id| item(world, id).derived.offered ^= true),
        (Check::Brief, |world, id| item(world, id).derived.sections.0 ^= Sections::OBJECTIVE),
        (Check::Brief, |world, id| {
            let objective = Some(Text::parse("a goal").expect("a text"));
            world.briefs.insert(id, Brief { objective, ..Brief::default() });
        }),
        (Check::Inbox, |world, id| item(world, id).derived.inbox.0 ^= Inbox::QUESTION),
        (Check::Inbox, |world, id| {
            let asked = question(&world.items[&id], "which?");
            world.questions.insert(asked.id, asked);
        }),
        (Check::Inbox, |world, id| item(world, id).attention = Some(Text::parse("look").expect("a text"))),
        (Check::Depth, |world, id| item(world, id).depth += 1),
        (Check::NextNumber, |world, _| world.projects.values_mut().for_each(|project| project.next_number = 1)),
        (Check::Parent, |world, id| item(world, id).parent = Some(id)),
        (Check::Status, |world, id| item(world, id).status = docket_core::testing::name("nowhere")),
        (Check::Session, |world, id| {
            let begun = Session { fence: Fence(99), ..session(&world.items[&id], "ann") };
            world.sessions.insert(begun.id, begun);
        }),
        (Check::Session, |world, id| {
            let ended = Session { state: SessionState::Finished, ..session(&world.items[&id], "ann") };
            world.sessions.insert(ended.id, ended);
        }),
        (Check::Session, |world, id| {
            for actor in ["ann", "bob"] {
                let begun = session(&world.items[&id], actor);
                world.sessions.insert(begun.id, begun);
            }
        }),
        (Check::Edge, |world, id| {
            let edge = an_edge(world, id, id);
            world.edges.insert(edge.id, edge);
        }),
    ];
    for (check, damage) in damages {
        let mut world = busy_world(Workflow::task_orchestrator(), 7);
        let id = any_item(&world);
        damage(&mut world, id);
        assert!(checks(&world).contains(&check), "{check:?} is not among {:?}", look(&world));
    }
}

#[test]
fn a_row_that_is_gone_or_doubled_is_found() {
    let mut world = busy_world(Workflow::task_orchestrator(), 7);
    let numbers: Vec<ItemId> = world.items.keys().copied().take(2).collect();
    item(&mut world, numbers[1]).number = world.items[&numbers[0]].number;
    assert!(checks(&world).contains(&Check::Key));

    let mut world = busy_world(Workflow::task_orchestrator(), 7);
    let ids: Vec<ItemId> = world.items.keys().copied().take(2).collect();
    for (from, to) in [(ids[0], ids[1]), (ids[1], ids[0])] {
        let edge = an_edge(&world, from, to);
        world.edges.insert(edge.id, edge);
    }
    assert!(checks(&world).contains(&Check::Waits), "{:?}", look(&world));

    for kind in [EdgeKind::DuplicateOf, EdgeKind::Supersedes] {
        let mut world = busy_world(Workflow::task_orchestrator(), 7);
        assert!(!checks(&world).contains(&Check::GivesWay));
        for (from, to) in [(ids[0], ids[1]), (ids[1], ids[0])] {
            let edge = Edge { kind, ..an_edge(&world, from, to) };
            world.edges.insert(edge.id, edge);
        }
        assert!(checks(&world).contains(&Check::GivesWay), "{kind:?}: {:?}", look(&world));
    }
}

#[test]
fn the_repair_puts_right_what_it_can() {
    let mut world = busy_world(Workflow::task_orchestrator(), 3);
    let whole = world.clone();
    for item in world.items.values_mut() {
        item.derived.blockers += 3;
        item.derived.rank -= 1;
        item.derived.offered ^= true;
        item.derived.sections.0 ^= Sections::CRITERIA;
        item.derived.inbox.0 ^= Inbox::ATTENTION;
        item.depth += 1;
    }
    for project in world.projects.values_mut() {
        project.next_number = 1;
    }
    let found = look(&world);
    assert!(found.iter().all(|finding| finding.repairable), "{found:?}");
    let items: Vec<Item> = world.items.values().cloned().collect();
    for mut repair in Repair::of(&found, &items) {
        match repair.decide(&world.slice(&repair.scope())) {
            Step::Commit(changes) => world.apply(&changes),
            other => panic!("{other:?}"),
        }
        // What is right is left alone.
        assert!(matches!(repair.decide(&world.slice(&repair.scope())), Step::Nothing));
    }
    assert_eq!(look(&world), Vec::new());
    assert_eq!(world.items, whole.items);
    assert_eq!(world.events, whole.events, "a repair is no act of anybody's");
}

fn item(world: &mut World, id: ItemId) -> &mut Item {
    world.items.get_mut(&id).expect("an item")
}

fn an_edge(world: &World, from: ItemId, to: ItemId) -> Edge {
    Edge {
        id: EdgeId::from_uuid(from.as_uuid()),
        kind: EdgeKind::Blocks,
        from,
        to,
        unblock_at: Some(Role::Terminal),
        inverse: false,
        created_at: world.now,
    }
}
