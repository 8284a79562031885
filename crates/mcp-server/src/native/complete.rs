//! Completes the names of items and projects, out of what the caller may see.

use std::collections::BTreeSet;

use docket_core::model::{ItemRef, Key, Project};
use docket_core::store::{Around, Filter, Order, ProjectRef, SortBy};
use docket_core::{Error, limits, search};
use rmcp::model::{CompletionInfo, Reference};

use super::{prompts, resources};
use crate::session::Session;
use crate::surface::{Completing, Getting};

/// Most values that are offered.
const OFFERED: usize = 50;
/// How many digits a number may still have behind those that were typed.
const DIGITS_MORE: u32 = 2;

/// What an argument names.
#[derive(Clone, Copy)]
enum Names {
    Item,
    Project,
}

/// Values that an argument may be completed to; `None` when there is no such argument.
pub(super) fn complete<'s>(session: &'s Session, completing: Completing<'_>) -> Option<Getting<'s, CompletionInfo>> {
    let names = match (completing.of, completing.argument) {
        (Reference::Resource(template), "id") if template.uri == resources::ITEM_TEMPLATE => Names::Item,
        (Reference::Resource(template), "project") if template.uri == resources::BOARD_TEMPLATE => Names::Project,
        (Reference::Prompt(prompt), argument) if [prompts::WORK, prompts::PLAN].contains(&prompt.name.as_str()) => {
            match argument {
                prompts::ITEM => Names::Item,
                prompts::PROJECT => Names::Project,
                _ => return None,
            }
        }
        _ => return None,
    };
    let typed = completing.typed.trim().to_owned();
    let project = completing.known.get(prompts::PROJECT).cloned();
    Some(Box::pin(async move {
        let found = match names {
            Names::Item => items(session, &typed, project.as_deref()).await?,
            Names::Project => projects(session, &typed).await?,
        };
        let more = found.len() > OFFERED;
        let values = found.into_iter().take(OFFERED).collect();
        // It is fewer than the protocol allows.
        Ok(CompletionInfo::with_pagination(values, None, more).unwrap_or_default())
    }))
}

/// Projects by the beginning of their slug, then by the words of their name.
async fn projects(session: &Session, typed: &str) -> Result<Vec<String>, Error> {
    let all = session.engine().projects().await?;
    let live = || all.iter().filter(|project| project.archived_at.is_none());
    let lower = typed.to_lowercase();
    let mut found = Found::default();
    found.extend(live().map(|project| project.slug.as_str()).filter(|slug| slug.starts_with(&lower)));
    let words = search::terms(typed);
    let named = |project: &&Project| {
        let name = search::terms(project.name.as_str());
        !words.is_empty() && words.iter().all(|word| name.iter().any(|other| other.starts_with(word.as_str())))
    };
    found.extend(live().filter(named).map(|project| project.slug.as_str()));
    Ok(found.values)
}

/// Items by the beginning of their key or id, then by the words of their title; the newest where nothing was typed.
async fn items(session: &Session, typed: &str, project: Option<&str>) -> Result<Vec<String>, Error> {
    let engine = session.engine();
    let within = match project.filter(|named| !named.trim().is_empty()) {
        Some(named) => ProjectRef::Id(engine.project_named(named.trim()).await?.id),
        None => session.project().clone(),
    };
    let mut found = Found::default();
    found.extend(by_key(session, &within, typed).await?);
    // An id that is typed with its hyphens is one before it is whole, too.
    let digits = typed.replace('-', "");
    if let Ok(prefix @ (ItemRef::Prefix(_) | ItemRef::Id(_))) = digits.parse::<ItemRef>() {
        let seen = engine.show(&within, std::slice::from_ref(&prefix), Around::default()).await?;
        // One that could be several is completed by typing more of it.
        found.extend(seen.resolve(&prefix).ok().map(|item| item.id.to_string()));
    }
    let mut words = search::terms(typed);
    // More than can be asked for: what is offered may fit the rest too.
    words.truncate(limits::SEARCH_WORDS);
    if typed.is_empty() || (!words.is_empty() && found.values.len() <= OFFERED) {
        let filter = Filter { project: within, words, ..newest() };
        let page = engine.find(&filter).await?;
        let keys = session.keys(page.items.iter()).await;
        found.extend(page.items.iter().filter_map(|item| keys.of(item)).map(|key| key.to_string()));
    }
    Ok(found.values)
}

/// Items whose keys begin with this.
async fn by_key(session: &Session, within: &ProjectRef, typed: &str) -> Result<Vec<String>, Error> {
    let engine = session.engine();
    let (prefix, digits) = match typed.split_once('-') {
        Some((prefix, digits)) => (prefix.to_ascii_uppercase(), Some(digits)),
        None => (typed.to_ascii_uppercase(), None),
    };
    if prefix.is_empty() {
        return Ok(Vec::new());
    }
    let meant = |project: &&Project| match digits {
        Some(_) => project.prefix.as_str() == prefix,
        None => project.prefix.as_str().starts_with(&prefix),
    };
    let all = engine.projects().await?;
    let inside = |project: &&Project| match within {
        ProjectRef::Any => true,
        ProjectRef::Id(id) => project.id == *id,
        ProjectRef::Slug(slug) => project.slug == *slug,
    };
    let Some(project) = all.iter().filter(inside).find(meant) else { return Ok(Vec::new()) };
    let project_ref = ProjectRef::Id(project.id);
    match digits {
        None | Some("") => {
            let page = engine.find(&Filter { project: project_ref, ..newest() }).await?;
            Ok(page.items.iter().map(|item| project.key(item.number).to_string()).collect())
        }
        Some(digits) => {
            let named: Vec<ItemRef> = numbers(digits, project.next_number)
                .into_iter()
                .map(|number| ItemRef::Key(Key { prefix: project.prefix.clone(), number }))
                .collect();
            if named.is_empty() {
                return Ok(Vec::new());
            }
            let seen = engine.show(&project_ref, &named, Around::default()).await?;
            let there = named.iter().filter_map(|key| seen.resolve(key).ok());
            Ok(there.map(|item| project.key(item.number).to_string()).collect())
        }
    }
}

/// The numbers below `end` that begin with these digits, the shortest first, a few digits longer at the most.
fn numbers(digits: &str, end: u32) -> Vec<u32> {
    let Some(typed) = digits.parse::<u32>().ok().filter(|_| !digits.starts_with(['0', '+'])) else { return Vec::new() };
    let mut all = Vec::new();
    for more in 0..=DIGITS_MORE {
        let span = 10_u32.pow(more);
        let Some(from) = typed.checked_mul(span) else { break };
        all.extend((from..from.saturating_add(span)).take_while(|number| *number < end));
    }
    all
}

fn newest() -> Filter {
    Filter { sort: SortBy::ModifiedAt, order: Order::Desc, limit: OFFERED + 1, ..Filter::default() }
}

/// Values in the order in which they were found, each once.
#[derive(Debug, Default)]
struct Found {
    values: Vec<String>,
    known: BTreeSet<String>,
}

impl Found {
    fn extend<T: Into<String>>(&mut self, values: impl IntoIterator<Item = T>) {
        for value in values {
            let value = value.into();
            if self.known.insert(value.clone()) {
                self.values.push(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn numbers_begin_with_what_was_typed_and_are_there() {
        assert_eq!(numbers("1", 13), [1, 10, 11, 12]);
        assert_eq!(numbers("12", 13), [12]);
        assert_eq!(numbers("7", 1000).len(), 111);
        assert_eq!(numbers("4294967295", u32::MAX), [0; 0]);
        for bad in ["0", "01", "+1", "", "x", "99999999999"] {
            assert_eq!(numbers(bad, 1000), [0; 0], "{bad}");
        }
    }
}
