//! Holds what is written to the limits that an operator has lowered.
//!
//! The limits themselves are held to where text is parsed, also text that comes from the database: what was stored before
//! a limit was lowered stays readable, so the lowered ones are held to here, where something new is about to be written,
//! and for what is new of it alone.

use crate::error::{Error, Reason};
use crate::limits::Lowered;
use crate::model::{Authority, Brief, Criterion, Entry, Evidence, Item};
use crate::store::{ChangeSet, Slice};

/// Refuses what is longer or more than the operator of this process allows.
pub(super) fn check(limits: &Lowered, seen: &Slice, changes: &ChangeSet) -> Result<(), Error> {
    if *limits == Lowered::NOT {
        return Ok(());
    }
    for item in &changes.new_items {
        check_item(limits, item, None)?;
    }
    for change in &changes.changed_items {
        check_item(limits, &change.item, seen.items.get(&change.item.id))?;
    }
    for (item, brief) in &changes.briefs {
        check_brief(limits, brief, seen.briefs.get(item))?;
    }
    for note in &changes.notes {
        text(limits, "body", note.body.as_str())?;
    }
    for comment in &changes.comments {
        text(limits, "body", comment.body.as_str())?;
    }
    for question in &changes.questions {
        let before = seen.questions.get(&question.id);
        if before.is_none() {
            text(limits, "question", question.text.as_str())?;
            question.options.iter().try_for_each(|option| text(limits, "options", option.as_str()))?;
        }
        if before.is_none_or(|before| before.answer != question.answer) {
            text(limits, "answer", question.answer.as_ref().map_or("", |answer| answer.as_str()))?;
        }
    }
    let knowledge = &changes.knowledge;
    let edited = knowledge.changed_entries.iter().filter(|change| change.text).map(|change| &change.entry);
    knowledge.new_entries.iter().chain(edited).try_for_each(|entry| check_entry(limits, entry))
}

fn check_item(limits: &Lowered, item: &Item, before: Option<&Item>) -> Result<(), Error> {
    if before.is_none_or(|before| before.title != item.title) {
        length("title", item.title.as_str(), limits.title_bytes)?;
    }
    if before.is_none_or(|before| before.summary != item.summary) {
        text(limits, "summary", item.summary.as_str())?;
    }
    for (field, new, old) in [
        ("description", &item.description, before.map(|before| &before.description)),
        ("intent", &item.intent, before.map(|before| &before.intent)),
        ("metadata", &item.metadata, before.map(|before| &before.metadata)),
        ("properties", &item.properties, before.map(|before| &before.properties)),
        ("attention", &item.attention, before.map(|before| &before.attention)),
    ] {
        if let Some(new) = new.as_ref().filter(|_| old.is_none_or(|old| old != new)) {
            text(limits, field, new.as_str())?;
        }
    }
    for (field, new, old) in [
        ("tags", item.tags.len(), before.is_some_and(|before| before.tags == item.tags)),
        ("traits", item.traits.len(), before.is_some_and(|before| before.traits == item.traits)),
        ("touches", item.touches.len(), before.is_some_and(|before| before.touches == item.touches)),
        ("needs", item.needs.len(), before.is_some_and(|before| before.needs == item.needs)),
        (
            "requiredCapabilities",
            item.required_capabilities.len(),
            before.is_some_and(|before| before.required_capabilities == item.required_capabilities),
        ),
    ] {
        if !old && new > limits.tags {
            let message = format!("{field} must be at most {}, not {new}", limits.tags);
            return Err(Error::validation(Reason::TooMany, message).at(field));
        }
    }
    Ok(())
}

fn check_brief(limits: &Lowered, brief: &Brief, before: Option<&Brief>) -> Result<(), Error> {
    for (field, new, old) in [
        ("objective", &brief.objective, before.map(|before| &before.objective)),
        ("context", &brief.context, before.map(|before| &before.context)),
        ("verification", &brief.verification, before.map(|before| &before.verification)),
        ("handoffExpectations", &brief.handoff_expectations, before.map(|before| &before.handoff_expectations)),
    ] {
        if let Some(new) = new.as_ref().filter(|_| old.is_none_or(|old| old != new)) {
            text(limits, field, new.as_str())?;
        }
    }
    let was_there = |words: &str| {
        before.is_some_and(|before| {
            before.acceptance_criteria.iter().any(|criterion| criterion.text.as_str() == words)
                || before.constraints.iter().any(|constraint| constraint.as_str() == words)
        })
    };
    let criteria = brief.acceptance_criteria.iter().map(|criterion| ("acceptanceCriteria", criterion.text.as_str()));
    let constraints = brief.constraints.iter().map(|constraint| ("constraints", constraint.as_str()));
    criteria
        .chain(constraints)
        .filter(|(_, words)| !was_there(words))
        .try_for_each(|(at, words)| text(limits, at, words))?;
    let known: Vec<(&str, &str)> = before.map(beside).unwrap_or_default();
    let mut new = beside(brief).into_iter().filter(|words| !known.contains(words));
    new.try_for_each(|(at, words)| text(limits, at, words))
}

/// What is said of criteria beside what must be true, and what checks verify.
fn beside(brief: &Brief) -> Vec<(&'static str, &str)> {
    let checks = brief.checks.iter().map(|check| ("desc", check.desc.as_str()));
    brief.acceptance_criteria.iter().flat_map(words_of).chain(checks).collect()
}

/// How a criterion is shown, and what was noted when it was. How a check ended is said here, and by nobody who could say less.
fn words_of(criterion: &Criterion) -> impl Iterator<Item = (&'static str, &str)> {
    let how = criterion.instructions.iter().map(|how| ("instructions", how.as_str()));
    let is_said = |evidence: &&Evidence| evidence.authority != Authority::Check;
    let notes = criterion.evidence.iter().filter(is_said).filter_map(|evidence| evidence.note.as_ref());
    how.chain(notes.map(|note| ("note", note.as_str())))
}

fn check_entry(limits: &Lowered, entry: &Entry) -> Result<(), Error> {
    length("title", entry.title.as_str(), limits.title_bytes)?;
    text(limits, "body", entry.body.as_str())
}

fn text(limits: &Lowered, field: &str, words: &str) -> Result<(), Error> {
    length(field, words, limits.text_bytes)
}

fn length(field: &str, words: &str, most: usize) -> Result<(), Error> {
    if words.len() <= most {
        return Ok(());
    }
    let message = format!("{field} must be at most {most} bytes, not {}", words.len());
    Err(Error::validation(Reason::TooLong, message).at(field))
}
