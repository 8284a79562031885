//! The lists of `find` that tell how things stand and what was done, beside those of work.

use docket_core::model::{Event, Item, ItemRef, Name, Role, Verb};
use docket_core::query::{Activity, Waits};
use docket_core::store::{Around, ChildTally, EventFilter, Filter, Order, ProjectRef, SortBy};
use docket_core::{Error, Reason};
use serde_json::{Value, json};

use super::budget::{Budget, Page, Row};
use super::find::{Ask, ORDERS};
use super::names::Names;
use super::sections;
use super::split::Split;
use super::view;
use crate::answer::Answer;
use crate::args::{moment, one_of};
use crate::input::Fields;
use crate::session::Session;

/// How many items of each kind the overview of what is going on shows.
const SHOWN: usize = 20;

pub(super) async fn overview(ask: &Ask<'_>) -> Result<Answer, Error> {
    let filter = Filter {
        project: ask.project.clone(),
        parent: Some(None),
        sort: SortBy::CreatedAt,
        order: Order::Desc,
        ..Filter::default()
    };
    ask.answer(|limit| {
        let filter = Filter { limit, ..filter.clone() };
        async move {
            let engine = ask.session.engine();
            let page = engine.list(&filter, ask.cursor.as_deref()).await?;
            let tallies = engine.tallies(page.items.iter().map(|item| item.id).collect()).await?;
            let keys = ask.session.keys(page.items.iter()).await;
            let row = |item: &Item| {
                let mut row = ask.row(&keys, item, page.now);
                row.said.say("children", tallies.get(&item.id).and_then(children));
                row
            };
            Ok(Page { rows: page.items.iter().map(row).collect(), next: page.next, total: None })
        }
    })
    .await
}

/// How the children of an item stand, by role; nothing where it has none.
fn children(tally: &ChildTally) -> Option<Value> {
    let mut told = serde_json::Map::new();
    for (role, count) in Role::ALL.iter().zip(tally.by_role) {
        super::split::put(&mut told, role.as_str(), Some(count).filter(|count| *count > 0));
    }
    (!told.is_empty()).then_some(Value::Object(told))
}

pub(super) async fn health(ask: &Ask<'_>) -> Result<Answer, Error> {
    let health = ask.session.engine().health(&ask.project).await?;
    let keys = ask.session.keys(health.active.iter().chain(&health.blocked)).await;
    let mut split = Split::default();
    split.say("claims", json!({ "active": health.claims.active, "expired": health.claims.expired }));
    let mut part = |name: &str, items: &[Item], total: u64| {
        let mut rows = Vec::new();
        for item in items.iter().take(SHOWN) {
            let row = ask.row(&keys, item, health.seen.now);
            split.quote(&row.name, row.said.untrusted);
            rows.push(Value::Object(row.said.trusted));
        }
        split.say(name, rows);
        split.say(&format!("{name}Total"), Some(total).filter(|count| *count > SHOWN as u64));
    };
    part("active", &health.active, health.active_total);
    part("blocked", &health.blocked, health.blocked_total);
    let stalled: Vec<Value> = health
        .stalled
        .iter()
        .take(SHOWN)
        .map(|stalled| json!({ "key": keys.of(&stalled.item), "missingNotes": stalled.missing }))
        .collect();
    split.say("stalled", stalled);
    split.say("stalledTotal", Some(health.stalled.len()).filter(|count| *count > SHOWN));
    // What is missing is looked up item by item: of very many, the rest may be stalled too.
    split.say("stalledAmong", Some(health.active.len()).filter(|_| health.is_cut()));
    let totals = [health.active_total, health.blocked_total, health.stalled.len() as u64];
    let cut = totals.into_iter().any(|count| count > SHOWN as u64);
    split.say("cut", Some("find list with roles, and find why, show all of them").filter(|_| cut));
    Ok(split.answer())
}

pub(super) async fn inbox(ask: &Ask<'_>) -> Result<Answer, Error> {
    ask.answer(|limit| async move {
        let page = ask.session.engine().inbox(&ask.project, limit, ask.cursor.as_deref()).await?;
        let keys = ask.keys(page.items.iter().map(|waiting| &waiting.item).collect()).await;
        let row = |waiting: &docket_core::query::Waiting| {
            let mut row = ask.row(&keys, &waiting.item, page.now);
            row.said.say("since", waiting.since);
            let mut reasons = Vec::new();
            for waits in &waiting.waits {
                match waits {
                    Waits::Question { question } => {
                        reasons.push("question");
                        row.said.add("question", view::question(question));
                    }
                    Waits::SignOff { criteria } => {
                        reasons.push("sign-off");
                        row.said.say("criteria", criteria.iter().map(|(id, _)| id).collect::<Vec<_>>());
                        for (id, text) in criteria {
                            row.said.quote(&id.to_string(), text);
                        }
                    }
                    Waits::Attest { checks } => {
                        reasons.push("attest");
                        row.said.say("checks", checks.iter().map(|(index, _)| index).collect::<Vec<_>>());
                        row.said.quote("checks", checks.iter().map(|(_, desc)| desc).collect::<Vec<_>>());
                    }
                    Waits::Approve { checks } => {
                        reasons.push("approve");
                        row.said.say("toApprove", checks.iter().map(|(index, _)| index).collect::<Vec<_>>());
                        row.said.quote("toApprove", checks.iter().map(|(_, desc)| desc).collect::<Vec<_>>());
                    }
                    Waits::Failed { checks } => {
                        reasons.push("failed");
                        row.said.say("failed", checks.iter().map(|(index, _)| index).collect::<Vec<_>>());
                        row.said.quote("failed", checks.iter().map(|(_, desc)| desc).collect::<Vec<_>>());
                    }
                    Waits::Review => reasons.push("review"),
                    Waits::Attention { why } => {
                        reasons.push("attention");
                        row.said.quote("attention", why);
                    }
                }
            }
            row.said.say("waits", reasons);
            row
        };
        Ok(Page { rows: page.items.iter().map(row).collect(), next: page.next, total: Some(page.total) })
    })
    .await
}

pub(super) async fn activity(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let item = fields.need("id", str::parse::<ItemRef>)?;
    let (verbs, since) = (fields.texts("verbs", verb)?.unwrap_or_default(), fields.parsed("since", moment)?);
    fields.end()?;
    let seen = ask.session.engine().show(&ask.project, std::slice::from_ref(&item), Around::default()).await?;
    let filter =
        EventFilter { item: Some(seen.resolve(&item)?.id), verbs, since, newest_first: true, ..EventFilter::default() };
    ask.answer(|limit| {
        let filter = EventFilter { limit, ..filter.clone() };
        async move {
            let page = ask.session.engine().event_list(&filter, ask.cursor.as_deref()).await?;
            // That somebody is still at it is told to whoever asks for just that.
            let is_told = |event: &&Event| !filter.verbs.is_empty() || !event.is_sign_of_life();
            let row = |event: &Event| {
                let mut said = sections::activity(&Activity::from(event));
                said.say("seq", event.seq);
                Row { name: event.seq.to_string(), said }
            };
            Ok(Page { rows: page.events.iter().filter(is_told).map(row).collect(), next: page.next, total: None })
        }
    })
    .await
}

pub(super) async fn events(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let filter = EventFilter {
        project: ask.project.clone(),
        verbs: fields.texts("verbs", verb)?.unwrap_or_default(),
        since: fields.parsed("since", moment)?,
        newest_first: fields.parsed("order", one_of(ORDERS))?.unwrap_or(Order::Desc) == Order::Desc,
        ..EventFilter::default()
    };
    fields.end()?;
    ask.answer(|limit| {
        let filter = EventFilter { limit, ..filter.clone() };
        async move {
            let page = ask.session.engine().event_list(&filter, ask.cursor.as_deref()).await?;
            let names = Names::of(ask.session, page.events.iter().filter_map(|event| event.item).collect()).await;
            let row = |event: &Event| event_row(event, &names);
            Ok(Page { rows: page.events.iter().map(row).collect(), next: page.next, total: None })
        }
    })
    .await
}

/// One event: what was done to what, and by whom.
pub(super) fn event_row(event: &Event, names: &Names) -> Row {
    let mut said = Split::default();
    said.say("seq", event.seq);
    said.say("item", event.item.map(|item| names.get(item)));
    let activity = sections::activity(&Activity::from(event));
    said.trusted.extend(activity.trusted);
    said.untrusted.extend(activity.untrusted);
    Row { name: event.seq.to_string(), said }
}

/// A way in which something was done.
pub(super) fn verb(text: &str) -> Result<Verb, docket_core::Invalid> {
    Verb::ALL.into_iter().find(|verb| verb.as_str() == text).ok_or_else(|| {
        let known: Vec<&str> = Verb::ALL.iter().map(|verb| verb.as_str()).collect();
        let message = format!("must be one of {}, not \"{}\"", known.join(", "), docket_core::echo(text));
        docket_core::Invalid::new(Reason::UnknownValue, message)
    })
}

pub(super) async fn projects(session: &Session, budget: Budget, cursor: Option<String>) -> Result<Answer, Error> {
    let projects = session.engine().projects().await?;
    let rows: Vec<Row> = projects
        .iter()
        .map(|project| {
            let mut said = Split::default();
            said.say("slug", &project.slug);
            said.say("prefix", &project.prefix);
            let statuses: Vec<&Name> = project.workflow.statuses.iter().map(|status| &status.name).collect();
            said.say("statuses", statuses);
            said.say("archivedAt", project.archived_at);
            said.quote("name", &project.name);
            Row { name: project.slug.to_string(), said }
        })
        .collect();
    let ask = Ask { session, project: ProjectRef::Any, budget, cursor, fields: Vec::new() };
    let total = rows.len() as u64;
    ask.answer_whole(rows, Some(total)).await
}
