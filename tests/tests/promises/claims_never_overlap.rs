//! P1: no item is ever held by two live claims.
//!
//! Agents in several processes claim by choice and by name, renew, release, write and sleep past their leases, while
//! servers are killed and the clock jumps. Then the record is replayed in commit order: nobody took what another held;
//! every acknowledged claim is in the record; and what was over before something else began has the lower number.
//! Planted bugs it catches: a claim placed without looking whether another one is live; one that was decided on what was read before
//! its transaction, without comparing the version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use docket_core::model::{ItemId, Verb};
use docket_core::testing::acts::Dice;
use serde_json::{Value, json};

use crate::fleet::{Fleet, Place, actor, must_fail_with, request, soak};

const AGENTS: usize = 64;
const PROCESSES: usize = 8;
/// Servers over HTTP.
const REPLICAS: usize = 2;
const ITEMS: usize = 256;
const LENGTH: Duration = Duration::from_secs(20);

/// A claim that was acknowledged: what, to whom, under which fence, asked when, answered when. A claim whose answer was lost
/// is known only from the next one, which may find it in place and renew it: then it was asked for when the lost one was.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledged {
    item: ItemId,
    holder: String,
    fence: u64,
    asked: Instant,
    answered: Instant,
}

fn agent(fleet: &Fleet, number: usize, items: &[String], seen: &Mutex<Vec<Acknowledged>>) {
    let name = format!("agent-{number}");
    let mut dice = Dice::new(number as u64);
    let mut held: Option<(String, u64)> = None;
    let mut unanswered: Option<Instant> = None;
    while !fleet.is_over() {
        let ttl = 1 + dice.roll(2);
        let choice = dice.roll(10);
        let any = items[usize::try_from(dice.roll(items.len() as u64)).expect("small")].clone();
        let claim = match (&held, choice) {
            (_, 0..=2) => json!({ "selector": {}, "ttlSeconds": ttl }),
            (Some((mine, _)), 3..=5) => json!({ "itemId": mine, "ttlSeconds": ttl }),
            (_, 3..=6) => json!({ "itemId": any, "ttlSeconds": ttl }),
            (Some((mine, fence)), 7 | 8) => {
                let note = json!({ "itemId": mine, "key": "log", "role": "work", "body": name, "actor": actor(&name), "fence": fence });
                let _ = fleet.call(number, "manage_notes", json!({ "operation": "upsert", "notes": [note] }));
                continue;
            }
            (Some((mine, _)), _) => {
                let release =
                    json!({ "actor": actor(&name), "requestId": request(), "releases": [{ "itemId": mine }] });
                let _ = fleet.call(number, "claim_item", release);
                held = None;
                continue;
            }
            (None, _) => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        let asked = Instant::now();
        let arguments = json!({ "actor": actor(&name), "requestId": request(), "claims": [claim] });
        let Ok(answer) = fleet.call(number, "claim_item", arguments) else {
            unanswered.get_or_insert(asked);
            continue;
        };
        let answered = Instant::now();
        let result = &answer.content["claimResults"][0];
        if result["outcome"] != json!("success") {
            continue;
        }
        let (item, fence) = (text(&result["itemId"]), result["fence"].as_u64().expect("a fence"));
        let id = item.parse().expect("an id");
        let asked = unanswered.take().unwrap_or(asked);
        seen.lock().expect("the list").push(Acknowledged { item: id, holder: name.clone(), fence, asked, answered });
        held = Some((item, fence));
        // One agent in twenty sleeps past its lease, and goes on as if it still held what it holds no more.
        if number.is_multiple_of(20) {
            std::thread::sleep(Duration::from_millis(ttl * 1000 + 300));
        }
    }
}

/// Agents at work on a place for so long, in processes that are killed, while the clock jumps and `meanwhile` is done; returns how
/// many were killed and the claims that were acknowledged.
pub(crate) fn under_load(
    place: &Arc<Place>,
    processes: usize,
    length: Duration,
    meanwhile: impl FnOnce(&Mutex<Vec<Acknowledged>>),
) -> (usize, Vec<Acknowledged>) {
    let items = Arc::new(place.items(ITEMS));
    let fleet = Fleet::new(place, processes);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let agents: Vec<_> = (0..AGENTS)
        .map(|number| {
            let (fleet, items, seen) = (Arc::clone(&fleet), Arc::clone(&items), Arc::clone(&seen));
            std::thread::spawn(move || agent(&fleet, number, &items, &seen))
        })
        .collect();
    let clock = place.clock();
    let jumps = std::thread::spawn({
        let fleet = Arc::clone(&fleet);
        move || {
            for skew in [90_000, 0, -90_000, 45_000].iter().cycle() {
                std::thread::sleep(Duration::from_secs(2));
                if fleet.is_over() {
                    return;
                }
                std::fs::write(&clock, skew.to_string()).expect("the clock");
            }
        }
    });
    let kills = std::thread::scope(|scope| {
        let torment = scope.spawn(|| fleet.torment(7, length, 1500..4000).0);
        meanwhile(&seen);
        torment.join().expect("the torment")
    });
    for agent in agents {
        agent.join().expect("an agent");
    }
    jumps.join().expect("the clock");
    let seen = seen.lock().expect("the list").clone();
    (kills, seen)
}

fn experiment(place: Place, processes: usize, length: Duration) {
    let place = Arc::new(place);
    let (kills, seen) = under_load(&place, processes, length, |_| {});
    let world = place.check();
    assert!(kills > 0 && seen.len() > 200, "{kills} kills and {} claims show little", seen.len());
    check_order(&world.events, &seen);
}

/// Every acknowledged claim is in the record, and the record is in the order in which things happened.
pub(crate) fn check_order(events: &[docket_core::model::Event], seen: &[Acknowledged]) {
    let mut placed: BTreeMap<(ItemId, u64), (u64, String)> = BTreeMap::new();
    for event in events.iter().filter(|event| event.verb == Verb::Claimed) {
        let (Some(item), Some(fence)) = (event.item, event.data["set"]["fence"].as_u64()) else { continue };
        placed.insert((item, fence), (event.seq, text(&event.data["set"]["claim"]["holder"])));
    }
    let mut first: Vec<(u64, Instant, Instant)> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for claim in seen {
        let (seq, holder) = placed.get(&(claim.item, claim.fence)).unwrap_or_else(|| panic!("lost: {claim:?}"));
        assert_eq!(*holder, claim.holder, "given to another: {claim:?}");
        if known.insert((claim.item, claim.fence)) {
            first.push((*seq, claim.asked, claim.answered));
        }
    }
    first.sort_by_key(|(seq, ..)| *seq);
    let mut latest_asked = None;
    for (seq, asked, answered) in &first {
        assert!(
            latest_asked.is_none_or(|latest| *answered >= latest),
            "event {seq} was over before an earlier one was asked for"
        );
        latest_asked = latest_asked.max(Some(*asked));
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn no_item_is_ever_held_by_two_live_claims() {
    experiment(Place::new(None), PROCESSES, LENGTH * soak());
}

#[test]
fn nor_on_a_server() {
    experiment(Place::on_server(None), PROCESSES, LENGTH * soak());
}

#[test]
fn and_a_claim_placed_over_another_would_be_seen() {
    must_fail_with(&["while"], || {
        experiment(Place::new(Some("claims-overlap")), PROCESSES, Duration::from_secs(4));
    });
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["while"], || {
        experiment(Place::on_server(Some("claims-overlap")), PROCESSES, Duration::from_secs(4));
    });
}

#[test]
fn nor_over_http_by_two_replicas() {
    experiment(Place::on_server(None).over_http(), REPLICAS, LENGTH * soak());
}

#[test]
fn and_so_would_one_over_http() {
    must_fail_with(&["while"], || {
        experiment(Place::on_server(Some("claims-overlap")).over_http(), REPLICAS, Duration::from_secs(4));
    });
}

/// What shows that two wrote over each other: two holders at once, a claim that another has, or a record that does not fit or
/// is not in the order of time.
const OVERWRITTEN: &[&str] =
    &["while", "time ran back", "given to another", "lost:", "rebuilt from events", "an event that fits"];

#[test]
fn and_a_version_that_is_not_compared_would_be_seen() {
    must_fail_with(OVERWRITTEN, || {
        experiment(Place::new(Some("looked-outside")), PROCESSES, Duration::from_secs(6));
    });
}

#[test]
fn and_so_would_one_that_is_not_compared_on_a_server() {
    must_fail_with(OVERWRITTEN, || {
        experiment(Place::on_server(Some("looked-outside")), PROCESSES, Duration::from_secs(6));
    });
}
