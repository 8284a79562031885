//! Knowledge: entries that were named, lists of them, the entries that have a word, and vectors.

use std::ops::ControlFlow;

use docket_core::limits;
use docket_core::model::{Entry, EntryId, ItemId, ProjectId};
use docket_core::store::row::{EntryRow, ListedRows, PairRow, SketchRows, VectorRow, WalkedRows, models};
use docket_core::store::{
    EntryFilter, Heading, KnowledgeReach, Listed, Posting, Postings, ProjectRef, Sketches, StoreError, Walked,
};
use rusqlite::Row;
use rusqlite::types::FromSqlError;
use ulid::Ulid;
use uuid::Uuid;

use super::limit::Limit;
use super::look::{Look, once, table};
use super::names::Named;
use crate::error::Trouble;
use crate::pool::Link;
use crate::row::{ENTRY, ENTRY_LINK, MAKING};
use crate::script::{Hex, Param, Script, Value};

/// The entries that were named, with their newest links and those with the items that were named, and the count of all.
/// Returns the projects of those entries.
pub(super) fn knowledge(look: &mut Look<'_>, reach: &KnowledgeReach, named: &Named) -> Result<Vec<Uuid>, Trouble> {
    let stored = reach.count.then(|| "'entries_stored', stored".to_owned());
    let counts: Vec<String> = stored.into_iter().chain(reach.making.then(|| format!("'making', {MAKING}"))).collect();
    if !counts.is_empty() {
        let mut script = Script::default();
        script.add(format!("SELECT json_object({}) FROM knowledge_counts", counts.join(", ")));
        look.results(&script)?;
    }
    if reach.entries.is_empty() {
        return Ok(Vec::new());
    }
    let (mut script, limit) = look.begin();
    let ids = table(&mut script, &once(reach.entries.iter().map(bytes)));
    let seen = limit.and("k.project_id");
    script.add(format!("SELECT {ENTRY}, k.id, k.project_id FROM {ids} s CROSS JOIN knowledge k ON k.id = s.id{seen}"));
    let found = look.rows("entries", &script)?;
    let (entries, projects): (Vec<Uuid>, Vec<Uuid>) = found.chunks_exact(2).map(|row| (row[0], row[1])).unzip();
    if entries.is_empty() {
        return Ok(projects);
    }
    let mut script = Script::default();
    let entries = table(&mut script, &entries);
    let most = script.limit(limits::ENTRY_LINKS);
    let with_named = if named.ids.is_empty() {
        String::new()
    } else {
        format!(" OR l.item_id IN (SELECT id FROM {})", table(&mut script, &named.ids))
    };
    script.add(format!(
        "SELECT {ENTRY_LINK} FROM {entries} n CROSS JOIN knowledge_links l ON l.entry_id = n.id AND ((l.item_id, l.kind) IN \
         (SELECT y.item_id, y.kind FROM knowledge_links y WHERE y.entry_id = n.id \
         ORDER BY y.created_at DESC, y.item_id DESC, y.kind DESC LIMIT {most}){with_named})"
    ));
    look.rows("entry_links", &script)?;
    Ok(projects)
}

/// The projects that a filter means and that may be seen, the newest first.
pub(crate) fn places(link: &mut Link, filter: &EntryFilter, most: usize) -> Result<Vec<ProjectId>, StoreError> {
    let mut script = Script::default();
    let limit = Limit::of(&mut script, &filter.visible);
    let projects = match &filter.project {
        ProjectRef::Any => limit.projects(),
        ProjectRef::Id(_) | ProjectRef::Slug(_) => {
            limit.named(&mut script, &filter.project).map_or_else(|| limit.projects(), |set| set.select().to_owned())
        }
    };
    let most = script.limit(most);
    script.add(format!(
        "SELECT json_group_array(hex(p.id) ORDER BY p.id DESC) FROM \
         (SELECT id FROM ({projects}) ORDER BY id DESC LIMIT {most}) p"
    ));
    Ok(link.ask(&script)?)
}

/// For each word the newest entries that have it.
pub(crate) fn postings(
    link: &mut Link,
    projects: &[ProjectId],
    words: &[String],
    under: &[Heading],
    most: usize,
) -> Result<Vec<Postings>, StoreError> {
    let mut lists = vec![Postings::default(); words.len()];
    let (mut of, mut come) = (0, 0);
    link.rows(&compose_postings(projects, words, under, most), |row| {
        let list = place(row)?;
        come = if list == of { come + 1 } else { 1 };
        of = list;
        let Some(list) = lists.get_mut(list / projects.len().max(1)) else { return Ok(ControlFlow::Break(())) };
        let entry = entry(row)?;
        if come > most {
            list.beyond = list.beyond.max(Some(entry));
        } else if row.get(3)? {
            list.entries.push(Posting { entry, in_title: row.get(2)? });
        }
        Ok(ControlFlow::Continue(()))
    })?;
    // Each project's are in order.
    for list in lists.iter_mut().filter(|_| projects.len() > 1) {
        list.entries.sort_by_key(|posting| std::cmp::Reverse(posting.entry));
    }
    Ok(lists)
}

/// For each word and project the newest, by the order of the key, and the first after those: the number of the list, the entry,
/// whether in its title, and whether it is under all headings. Bare rows, since there are many of them: to spell them as JSON
/// costs more than to read them.
pub(super) fn compose_postings(projects: &[ProjectId], words: &[String], under: &[Heading], most: usize) -> Script {
    let mut script = Script::default();
    let list = List::bind(&mut script);
    let most = script.limit(most.saturating_add(1));
    let fits = conditions(&mut script, under, "w.entry_id", &list.project);
    let List { place, project, word } = &list;
    let newest = format!(
        "SELECT {place}, w.entry_id, w.in_title, {fits} FROM knowledge_words w \
         WHERE w.project_id = {project} AND w.word = {word} ORDER BY w.entry_id DESC LIMIT {most}"
    );
    let pairs = words.iter().flat_map(|word| projects.iter().map(move |project| (word, project)));
    script.add_each(newest, pairs.enumerate().map(|(place, (word, project))| List::row(place, *project, word)));
    script
}

/// The values that differ between the lists of entries that one statement goes through: it is run for each.
struct List {
    place: String,
    project: String,
    word: String,
}

impl List {
    /// To be bound before anything else.
    fn bind(script: &mut Script) -> Self {
        let [place, project, word] = [0, 0, 0].map(|nothing| script.int(nothing).to_string());
        Self { place, project, word }
    }

    fn row(place: usize, project: ProjectId, word: &str) -> Vec<Value> {
        vec![place.into(), project.as_uuid().into(), word.into()]
    }
}

fn place(row: &Row<'_>) -> Result<usize, rusqlite::Error> {
    let place: i64 = row.get(0)?;
    usize::try_from(place).map_err(|_| FromSqlError::OutOfRange(place).into())
}

fn entry(row: &Row<'_>) -> Result<EntryId, rusqlite::Error> {
    let id = row.get_ref(1)?.as_blob()?.try_into().map_err(|_| FromSqlError::InvalidType)?;
    Ok(EntryId(Ulid::from_bytes(id)))
}

/// Which of the pairs there are.
pub(crate) fn having(link: &mut Link, pairs: &[(EntryId, String)]) -> Result<Vec<(usize, bool)>, StoreError> {
    let rows: Vec<PairRow> = link.ask(&compose_having(pairs))?;
    Ok(models(rows))
}

pub(super) fn compose_having(pairs: &[(EntryId, String)]) -> Script {
    let mut script = Script::default();
    let pairs: Vec<(Hex, &str)> = pairs.iter().map(|(entry, word)| (Hex(bytes(entry)), word.as_str())).collect();
    let pairs = script.json(&pairs);
    script.add(format!(
        "SELECT json_group_array(json_array(j.key, w.in_title)) FROM json_each({pairs}) j \
         CROSS JOIN knowledge_words w ON w.entry_id = unhex(j.value ->> 0) AND w.word = j.value ->> 1"
    ));
    script
}

/// For each list of words the newest entries that have all of them.
pub(crate) fn having_all(
    link: &mut Link,
    projects: &[ProjectId],
    words: &[Vec<String>],
    under: &[Heading],
    walk: usize,
    most: usize,
) -> Result<Vec<Walked>, StoreError> {
    let mut found: Vec<Walked> = vec![Walked::default(); words.len()];
    // How many of a list were looked at, and how many of those were found.
    let (mut of, mut come, mut fit) = (0, 0, 0);
    link.rows(&compose_having_all(projects, words, under, walk), |row| {
        let list = place(row)?;
        (come, fit) = if list == of { (come + 1, fit) } else { (1, 0) };
        of = list;
        let Some(walked) = found.get_mut(list / projects.len().max(1)) else { return Ok(ControlFlow::Break(())) };
        if come > walk {
            walked.cut = true;
        } else if row.get(2)? {
            walked.entries.push(entry(row)?);
            fit += 1;
        }
        Ok(if fit >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    for walked in &mut found {
        walked.entries.sort_unstable_by(|a, b| b.cmp(a));
        walked.cut |= walked.entries.len() >= most;
        walked.entries.truncate(most);
    }
    Ok(found)
}

/// Along the first word of each list and in each project, the newest first: the number of the walk, the entry, and whether it has
/// the other words and is under all headings. Who reads stops when enough were found.
pub(super) fn compose_having_all(
    projects: &[ProjectId],
    words: &[Vec<String>],
    under: &[Heading],
    walk: usize,
) -> Script {
    let mut script = Script::default();
    let list = List::bind(&mut script);
    // All lists are made as long as the longest, by the word that is walked along: whoever has it has it.
    let longest = words.iter().map(Vec::len).max().unwrap_or(0);
    let others: Vec<Param> = (1..longest).map(|_| script.int(0)).collect();
    let walk = script.limit(walk.saturating_add(1));
    let mut fits = conditions(&mut script, under, "w.entry_id", &list.project);
    let List { place, project, word } = &list;
    for other in others.iter().rev() {
        fits = format!(
            "EXISTS (SELECT 1 FROM knowledge_words x WHERE x.project_id = {project} AND x.word = {other} \
             AND x.entry_id = w.entry_id) AND {fits}"
        );
    }
    let along = format!(
        "SELECT {place}, w.entry_id, {fits} FROM knowledge_words w \
         WHERE w.project_id = {project} AND w.word = {word} ORDER BY w.entry_id DESC LIMIT {walk}"
    );
    let lists = words.iter().flat_map(|list| projects.iter().map(move |project| (list, project)));
    let rows = lists.enumerate().map(|(place, (list, project))| {
        let first = list.first().map_or("", String::as_str);
        let mut row = List::row(place, *project, first);
        row.extend((1..longest).map(|place| list.get(place).map_or(first, String::as_str).into()));
        row
    });
    script.add_each(along, rows);
    script
}

/// The newest entries under a heading.
pub(crate) fn headed(
    link: &mut Link,
    projects: &[ProjectId],
    heading: &Heading,
    most: usize,
) -> Result<Walked, StoreError> {
    let rows: WalkedRows = link.ask(&compose_headed(projects, heading, most))?;
    Ok(rows.by_walk(1, usize::MAX).pop().unwrap_or_default())
}

pub(super) fn compose_headed(projects: &[ProjectId], heading: &Heading, most: usize) -> Script {
    let mut script = Script::default();
    let places = places_of(&mut script, projects);
    let Headed { lists, newest } = Headed::of(&mut script, heading, places, None);
    let most = script.limit(most);
    script.add(format!(
        "SELECT json_array((SELECT json_group_array(json_array(0, hex(k.id))) FROM {lists} \
         CROSS JOIN knowledge k ON k.id IN (SELECT g.entry_id {newest} LIMIT {most}) \
         AND +k.project_id = unhex(p.value)), \
         (SELECT json_group_array(json_array(0, (SELECT hex(g.entry_id) {newest} LIMIT 1 OFFSET {most}))) FROM {lists}))"
    ));
    script
}

/// Entries under all headings, the newest first.
pub(crate) fn list_entries(
    link: &mut Link,
    projects: &[ProjectId],
    under: &[Heading],
    before: Option<EntryId>,
    walk: usize,
    limit: usize,
) -> Result<Listed, StoreError> {
    let rows: ListedRows = link.ask(&compose_list(projects, under, before, walk, limit))?;
    Ok(rows.into())
}

pub(super) fn compose_list(
    projects: &[ProjectId],
    under: &[Heading],
    before: Option<EntryId>,
    walk: usize,
    limit: usize,
) -> Script {
    let mut script = Script::default();
    let places = places_of(&mut script, projects);
    let before = before.map(|before| script.uuid(bytes(&before)));
    let (walk, limit) = (script.limit(walk), script.limit(limit));
    let (lists, found, beyond) = if let Some((first, rest)) = under.split_first() {
        let Headed { lists, newest } = Headed::of(&mut script, first, places, before);
        let fits = conditions(&mut script, rest, "d.entry_id", "unhex(p.value)");
        let found = format!(
            "SELECT DISTINCT d.entry_id FROM (SELECT g.entry_id {newest} LIMIT {walk}) d WHERE {fits} \
             ORDER BY d.entry_id DESC LIMIT {limit}"
        );
        let beyond = format!(
            "(SELECT nullif(max(coalesce((SELECT hex(g.entry_id) {newest} LIMIT 1 OFFSET {walk}), '')), '') FROM {lists})"
        );
        (lists, found, beyond)
    } else {
        let older = before.map_or_else(String::new, |before| format!(" AND g.id < {before}"));
        let found = format!(
            "SELECT g.id FROM knowledge g WHERE g.project_id = unhex(p.value){older} ORDER BY g.id DESC LIMIT {limit}"
        );
        (format!("json_each({places}) p"), found, "NULL".to_owned())
    };
    script.add(format!(
        "SELECT json_array((SELECT json_group_array({ENTRY} ORDER BY k.id DESC) FROM \
         (SELECT DISTINCT k.pk FROM {lists} CROSS JOIN knowledge k ON k.id IN ({found}) \
         AND +k.project_id = unhex(p.value) ORDER BY k.id DESC LIMIT {limit}) f \
         CROSS JOIN knowledge k ON k.pk = f.pk), {beyond})"
    ));
    script
}

/// Entries of whose present text nothing was made yet.
pub(crate) fn pending(link: &mut Link, limit: usize) -> Result<Vec<Entry>, StoreError> {
    let rows: Vec<EntryRow> = link.ask(&compose_pending(limit))?;
    Ok(models(rows))
}

pub(super) fn compose_pending(limit: usize) -> Script {
    let mut script = Script::default();
    let most = script.limit(limit);
    script.add(format!(
        "SELECT json_group_array({ENTRY}) FROM (SELECT g.* FROM knowledge g \
         WHERE g.made < (SELECT generation FROM knowledge_counts) ORDER BY g.made, g.id LIMIT {most}) k"
    ));
    script
}

/// The sketches of a generation's vectors after a place.
pub(crate) fn sketches(link: &mut Link, generation: u64, after: u64, limit: usize) -> Result<Sketches, StoreError> {
    let rows: SketchRows = link.ask(&compose_sketches(generation, after, limit))?;
    Ok(rows.into())
}

pub(super) fn compose_sketches(generation: u64, after: u64, limit: usize) -> Script {
    let mut script = Script::default();
    let most = script.limit(limit);
    let generation = script.int(i64::try_from(generation).unwrap_or(i64::MAX));
    let after = script.int(i64::try_from(after).unwrap_or(i64::MAX));
    script.add(format!(
        "SELECT json_array({MAKING}, stored, (SELECT json_group_array(json_array(s.place, hex(s.entry_id), \
         hex(k.project_id), hex(s.bits)) ORDER BY s.place) FROM (SELECT v.place, v.entry_id, v.bits FROM knowledge_vectors v \
         WHERE v.generation = {generation} AND v.place > {after} ORDER BY v.place LIMIT {most}) s \
         CROSS JOIN knowledge k ON k.id = s.entry_id)) FROM knowledge_counts"
    ));
    script
}

/// The vectors of these entries, where they are of their present texts.
pub(crate) fn vectors(link: &mut Link, entries: &[EntryId]) -> Result<Vec<(EntryId, Vec<f32>)>, StoreError> {
    let rows: Vec<VectorRow> = link.ask(&compose_vectors(entries))?;
    Ok(models(rows))
}

pub(super) fn compose_vectors(entries: &[EntryId]) -> Script {
    let mut script = Script::default();
    let ids = script.uuids(entries.iter().map(bytes));
    script.add(format!(
        "SELECT json_group_array(json_array(hex(v.entry_id), hex(v.numbers))) FROM json_each({ids}) j \
         CROSS JOIN knowledge_vectors v ON v.entry_id = unhex(j.value) \
         CROSS JOIN knowledge k ON k.id = v.entry_id AND k.made = v.generation \
         WHERE v.generation = (SELECT generation FROM knowledge_counts)"
    ));
    script
}

/// The lists of entries under a heading: what to go through, and the entries of each in order.
struct Headed {
    lists: String,
    newest: String,
}

impl Headed {
    fn of(script: &mut Script, heading: &Heading, places: Param, before: Option<Param>) -> Self {
        let older = before.map_or_else(String::new, |before| format!(" AND g.entry_id < {before}"));
        match heading {
            Heading::Facets(facets) => {
                let facets = script.json(facets);
                Self {
                    lists: format!("json_each({facets}) j CROSS JOIN json_each({places}) p"),
                    newest: format!(
                        "FROM knowledge_facets g WHERE g.project_id = unhex(p.value) AND g.facet = j.value{older} \
                         ORDER BY g.entry_id DESC"
                    ),
                }
            }
            Heading::Item(item) => {
                let item = script.uuid(item.as_uuid());
                Self {
                    lists: format!("json_each({places}) p"),
                    newest: format!("FROM knowledge_links g WHERE g.item_id = {item}{older} ORDER BY g.entry_id DESC"),
                }
            }
        }
    }
}

/// What must hold of an entry of a project to be under all headings.
fn conditions(script: &mut Script, under: &[Heading], entry: &str, project: &str) -> String {
    let mut fits = "true".to_owned();
    for heading in under {
        let one = match heading {
            Heading::Facets(facets) => {
                let facets = script.json(facets);
                format!(
                    "EXISTS (SELECT 1 FROM knowledge_facets g WHERE g.project_id = {project} \
                     AND g.facet IN (SELECT value FROM json_each({facets})) AND g.entry_id = {entry})"
                )
            }
            Heading::Item(item) => linked(script, *item, entry),
        };
        fits = format!("{one} AND {fits}");
    }
    fits
}

fn linked(script: &mut Script, item: ItemId, entry: &str) -> String {
    let item = script.uuid(item.as_uuid());
    format!("EXISTS (SELECT 1 FROM knowledge_links y WHERE y.entry_id = {entry} AND y.item_id = {item})")
}

fn places_of(script: &mut Script, projects: &[ProjectId]) -> Param {
    script.uuids(projects.iter().map(|project| project.as_uuid()))
}

fn bytes(id: &EntryId) -> Uuid {
    Uuid::from_u128(id.0.0)
}
