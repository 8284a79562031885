//! Knowledge: entries that were named, lists of them, the entries that have a word, and vectors.

use docket_core::limits;
use docket_core::model::{Entry, EntryId, ProjectId};
use docket_core::store::row::{EntryRow, ListedRows, PairRow, PostingRows, SketchRows, VectorRow, WalkedRows, models};
use docket_core::store::{
    EntryFilter, Heading, KnowledgeReach, Listed, Postings, ProjectRef, Sketches, StoreError, Walked,
};
use uuid::Uuid;

use super::limit::Limit;
use super::statement::{Statement, each};
use crate::pool::Link;
use crate::row::{ENTRY, ENTRY_LINK, MAKING};
use crate::script::{Param, Script};

/// Adds the entries that were named, with their newest links and those with the items that were named, and the count of all.
/// Says whether entries were named: the part `named_entries` then has their projects.
pub(super) fn add_knowledge(
    script: &mut Script,
    statement: &mut Statement,
    reach: &KnowledgeReach,
    limit: &Limit,
    names_items: bool,
) -> bool {
    if reach.count {
        statement.result("entries_stored", "(SELECT stored FROM knowledge_counts)");
    }
    if reach.making {
        statement.result("making", &format!("(SELECT {MAKING} FROM knowledge_counts)"));
    }
    if reach.entries.is_empty() {
        return false;
    }
    let ids = script.uuids(reach.entries.iter().map(bytes));
    let seen = limit.and("k.project_id");
    statement.part(
        "named_entries (id, project_id)",
        &format!("SELECT k.id, k.project_id FROM knowledge k WHERE k.id = ANY({ids}){seen}"),
    );
    statement.rows("entries", ENTRY, &each("named_entries n", "knowledge", "k", "k.id = n.id"));
    let most = Script::limit(limits::ENTRY_LINKS);
    let with_named = if names_items {
        " UNION SELECT y.* FROM knowledge_links y WHERE y.entry_id = n.id AND y.item_id IN (SELECT id FROM named)"
    } else {
        ""
    };
    statement.rows(
        "entry_links",
        ENTRY_LINK,
        &format!(
            "named_entries n CROSS JOIN LATERAL ((SELECT y.* FROM knowledge_links y WHERE y.entry_id = n.id \
             ORDER BY y.created_at DESC, y.item_id DESC, y.kind DESC LIMIT {most}){with_named}) l"
        ),
    );
    true
}

/// The projects that a filter means and that may be seen, the newest first.
pub(crate) async fn places(link: &mut Link, filter: &EntryFilter, most: usize) -> Result<Vec<ProjectId>, StoreError> {
    let mut script = Script::default();
    let limit = Limit::of(&mut script, &filter.visible);
    let projects = match &filter.project {
        ProjectRef::Any => limit.projects(),
        ProjectRef::Id(_) | ProjectRef::Slug(_) => {
            limit.named(&mut script, &filter.project).map_or_else(|| limit.projects(), |set| set.select())
        }
    };
    let most = script.page(most);
    script.set(format!(
        "SELECT coalesce(json_agg(p.id ORDER BY p.id DESC), '[]')::text FROM \
         (SELECT q.id FROM ({projects}) q ORDER BY q.id DESC LIMIT {most}) p"
    ));
    Ok(link.ask(script).await?)
}

/// For each word the newest entries that have it.
pub(crate) async fn postings(
    link: &mut Link,
    projects: &[ProjectId],
    words: &[String],
    under: &[Heading],
    most: usize,
) -> Result<Vec<Postings>, StoreError> {
    let mut script = Script::default();
    let asked = script.texts(words.iter().map(String::as_str));
    let places = places_of(&mut script, projects);
    let most = script.page(most);
    let fits = conditions(&mut script, under, "d.entry_id");
    let lists = format!("unnest({asked}) WITH ORDINALITY a (word, place) CROSS JOIN unnest({places}) p (id)");
    let newest = "FROM knowledge_words w WHERE w.project_id = p.id AND w.word = a.word \
                  ORDER BY w.project_id DESC, w.word DESC, w.entry_id DESC";
    // The newest of each word and project, by the key's order; and the first after those.
    script.set(format!(
        "SELECT json_build_array((SELECT coalesce(json_agg(json_build_array(a.place - 1, f.entry_id, f.in_title)), '[]') \
         FROM {lists} CROSS JOIN LATERAL (SELECT d.entry_id, d.in_title FROM (SELECT w.entry_id, w.in_title {newest} \
         LIMIT {most}) d WHERE {fits}) f), \
         (SELECT coalesce(json_agg(json_build_array(a.place - 1, (SELECT w.entry_id {newest} OFFSET {most} LIMIT 1))), '[]') \
         FROM {lists}))::text"
    ));
    let rows: PostingRows = link.ask(script).await?;
    Ok(rows.by_word(words.len()))
}

/// Which of the pairs there are.
pub(crate) async fn having(link: &mut Link, pairs: &[(EntryId, String)]) -> Result<Vec<(usize, bool)>, StoreError> {
    let mut script = Script::default();
    let ids = script.uuids(pairs.iter().map(|(entry, _)| bytes(entry)));
    let words = script.texts(pairs.iter().map(|(_, word)| word.as_str()));
    script.set(format!(
        "SELECT coalesce(json_agg(json_build_array(a.place - 1, f.in_title)), '[]')::text \
         FROM unnest({ids}, {words}) WITH ORDINALITY a (entry_id, word, place) CROSS JOIN LATERAL ( \
         SELECT w.in_title FROM knowledge_words w WHERE w.entry_id = a.entry_id AND w.word = a.word OFFSET 0) f"
    ));
    let rows: Vec<PairRow> = link.ask(script).await?;
    Ok(models(rows))
}

/// For each list of words the newest entries that have all of them.
pub(crate) async fn having_all(
    link: &mut Link,
    projects: &[ProjectId],
    words: &[Vec<String>],
    under: &[Heading],
    walk: usize,
    most: usize,
) -> Result<Vec<Walked>, StoreError> {
    let mut script = Script::default();
    let places = places_of(&mut script, projects);
    let (walk, limit) = (script.page(walk), script.page(most));
    let mut fits = conditions(&mut script, under, "d.entry_id");
    // All lists are made as long as the longest, by the word that is walked along: whoever has it has it.
    let longest = words.iter().map(Vec::len).max().unwrap_or(0);
    let (mut columns, mut names) = (Vec::new(), Vec::new());
    for place in 0..longest.max(1) {
        let column = words.iter().map(|list| list.get(place).or_else(|| list.first()).map_or("", String::as_str));
        columns.push(script.texts(column).to_string());
        names.push(format!("word{place}"));
        if place > 0 {
            fits = format!(
                "(SELECT true FROM knowledge_words x WHERE x.project_id = p.id AND x.word = a.word{place} \
                 AND x.entry_id = d.entry_id LIMIT 1) IS NOT NULL AND {fits}"
            );
        }
    }
    let lists = format!(
        "unnest({}) WITH ORDINALITY a ({}, place) CROSS JOIN unnest({places}) p (id)",
        columns.join(", "),
        names.join(", ")
    );
    let newest = "FROM knowledge_words w WHERE w.project_id = p.id AND w.word = a.word0 \
                  ORDER BY w.project_id DESC, w.word DESC, w.entry_id DESC";
    script.set(format!(
        "SELECT json_build_array((SELECT coalesce(json_agg(json_build_array(a.place - 1, f.entry_id)), '[]') FROM {lists} \
         CROSS JOIN LATERAL (SELECT d.entry_id FROM (SELECT w.entry_id {newest} LIMIT {walk}) d WHERE {fits} \
         ORDER BY d.entry_id DESC LIMIT {limit}) f), \
         (SELECT coalesce(json_agg(json_build_array(a.place - 1, (SELECT w.entry_id {newest} OFFSET {walk} LIMIT 1))), '[]') \
         FROM {lists}))::text"
    ));
    let rows: WalkedRows = link.ask(script).await?;
    Ok(rows.by_walk(words.len(), most))
}

/// The newest entries under a heading.
pub(crate) async fn headed(
    link: &mut Link,
    projects: &[ProjectId],
    heading: &Heading,
    most: usize,
) -> Result<Walked, StoreError> {
    let mut script = Script::default();
    let places = places_of(&mut script, projects);
    let Headed { lists, newest } = Headed::of(&mut script, heading, places, None);
    let most = script.page(most);
    let own = own("f.entry_id");
    script.set(format!(
        "SELECT json_build_array((SELECT coalesce(json_agg(json_build_array(0, f.entry_id)), '[]') FROM {lists} \
         CROSS JOIN LATERAL (SELECT g.entry_id {newest} LIMIT {most}) f WHERE {own}), \
         (SELECT coalesce(json_agg(json_build_array(0, (SELECT g.entry_id {newest} OFFSET {most} LIMIT 1))), '[]') \
         FROM {lists}))::text"
    ));
    let rows: WalkedRows = link.ask(script).await?;
    Ok(rows.by_walk(1, usize::MAX).pop().unwrap_or_default())
}

/// Entries under all headings, the newest first.
pub(crate) async fn list_entries(
    link: &mut Link,
    projects: &[ProjectId],
    under: &[Heading],
    before: Option<EntryId>,
    walk: usize,
    limit: usize,
) -> Result<Listed, StoreError> {
    let mut script = Script::default();
    let places = places_of(&mut script, projects);
    let before = before.map(|before| script.uuid(bytes(&before)));
    let limit = script.page(limit);
    let (lists, found, beyond) = if let Some((first, rest)) = under.split_first() {
        let walk = script.page(walk);
        let Headed { lists, newest } = Headed::of(&mut script, first, places, before);
        let fits = conditions(&mut script, rest, "d.entry_id");
        let found = format!("SELECT d.entry_id AS id FROM (SELECT g.entry_id {newest} LIMIT {walk}) d WHERE {fits}");
        // Not `max`: there is none for ids before Postgres 18.
        let beyond = format!(
            "(SELECT b.id FROM (SELECT (SELECT g.entry_id {newest} OFFSET {walk} LIMIT 1) AS id FROM {lists}) b \
             WHERE b.id IS NOT NULL ORDER BY b.id DESC LIMIT 1)"
        );
        (lists, found, beyond)
    } else {
        let older = before.map_or_else(String::new, |before| format!(" AND g.id < {before}"));
        let found = format!(
            "SELECT g.id FROM knowledge g WHERE g.project_id = p.id{older} ORDER BY g.project_id DESC, g.id DESC \
             LIMIT {limit}"
        );
        (format!("unnest({places}) p (id)"), found, "NULL".to_owned())
    };
    let own = own("f.id");
    script.set(format!(
        "SELECT json_build_array((SELECT coalesce(json_agg({ENTRY} ORDER BY k.id DESC), '[]') FROM \
         (SELECT DISTINCT f.id FROM {lists} CROSS JOIN LATERAL ({found}) f WHERE {own} ORDER BY f.id DESC LIMIT {limit}) o \
         CROSS JOIN LATERAL (SELECT x.* FROM knowledge x WHERE x.id = o.id OFFSET 0) k), {beyond})::text"
    ));
    let rows: ListedRows = link.ask(script).await?;
    Ok(rows.into())
}

/// Entries of whose present text nothing was made yet.
pub(crate) async fn pending(link: &mut Link, limit: usize) -> Result<Vec<Entry>, StoreError> {
    let mut script = Script::default();
    let most = script.page(limit);
    script.set(format!(
        "SELECT coalesce(json_agg({ENTRY} ORDER BY k.made, k.id), '[]')::text FROM (SELECT k.* FROM knowledge k \
         WHERE k.made < (SELECT generation FROM knowledge_counts) ORDER BY k.made, k.id LIMIT {most}) k"
    ));
    let rows: Vec<EntryRow> = link.ask(script).await?;
    Ok(models(rows))
}

/// The sketches of a generation's vectors after a place.
pub(crate) async fn sketches(
    link: &mut Link,
    generation: u64,
    after: u64,
    limit: usize,
) -> Result<Sketches, StoreError> {
    let mut script = Script::default();
    let most = script.page(limit);
    let generation = script.int(i64::try_from(generation).unwrap_or(i64::MAX));
    let after = script.int(i64::try_from(after).unwrap_or(i64::MAX));
    script.set(format!(
        "SELECT json_build_array({MAKING}, stored, (SELECT coalesce(json_agg(json_build_array(v.place, v.entry_id, \
         k.project_id, encode(v.bits, 'hex')) ORDER BY v.place), '[]') FROM (SELECT place, entry_id, bits \
         FROM knowledge_vectors WHERE generation = {generation} AND place > {after} ORDER BY place LIMIT {most}) v \
         JOIN knowledge k ON k.id = v.entry_id))::text FROM knowledge_counts"
    ));
    let rows: SketchRows = link.ask(script).await?;
    Ok(rows.into())
}

/// The vectors of these entries, where they are of their present texts.
pub(crate) async fn vectors(link: &mut Link, entries: &[EntryId]) -> Result<Vec<(EntryId, Vec<f32>)>, StoreError> {
    let mut script = Script::default();
    let ids = script.uuids(entries.iter().map(bytes));
    script.set(format!(
        "SELECT coalesce(json_agg(json_build_array(v.entry_id, encode(v.numbers, 'hex'))), '[]')::text \
         FROM knowledge_vectors v JOIN knowledge k ON k.id = v.entry_id AND k.made = v.generation \
         WHERE v.entry_id = ANY({ids}) AND v.generation = (SELECT generation FROM knowledge_counts)"
    ));
    let rows: Vec<VectorRow> = link.ask(script).await?;
    Ok(models(rows))
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
                let facets = script.texts(facets.iter().map(String::as_str));
                Self {
                    lists: format!("unnest({facets}) a (facet) CROSS JOIN unnest({places}) p (id)"),
                    newest: format!(
                        "FROM knowledge_facets g WHERE g.project_id = p.id AND g.facet = a.facet{older} \
                         ORDER BY g.project_id DESC, g.facet DESC, g.entry_id DESC"
                    ),
                }
            }
            Heading::Item(item) => {
                let item = script.uuid(item.as_uuid());
                Self {
                    lists: format!("unnest({places}) p (id)"),
                    newest: format!(
                        "FROM knowledge_links g WHERE g.item_id = {item}{older} ORDER BY g.item_id DESC, g.entry_id DESC"
                    ),
                }
            }
        }
    }
}

/// That an entry is of the project `p`. As a value, so that it is looked up and not joined.
fn own(entry: &str) -> String {
    format!("(SELECT z.project_id FROM knowledge z WHERE z.id = {entry}) = p.id")
}

/// What must hold of an entry in the project `p` to be under all headings. Each is looked up by a key, as a value: joined, a
/// planner might read all entries that are under it.
fn conditions(script: &mut Script, under: &[Heading], entry: &str) -> String {
    let mut fits = "true".to_owned();
    for heading in under {
        let one = match heading {
            Heading::Facets(facets) => {
                let facets = script.texts(facets.iter().map(String::as_str));
                format!(
                    "(SELECT true FROM knowledge_facets y WHERE y.project_id = p.id AND y.facet = ANY({facets}) \
                     AND y.entry_id = {entry} LIMIT 1) IS NOT NULL"
                )
            }
            Heading::Item(item) => {
                let item = script.uuid(item.as_uuid());
                format!(
                    "(SELECT true FROM knowledge_links y WHERE y.entry_id = {entry} AND y.item_id = {item} LIMIT 1) IS NOT NULL"
                )
            }
        };
        fits = format!("{one} AND {fits}");
    }
    fits
}

fn places_of(script: &mut Script, projects: &[ProjectId]) -> Param {
    script.uuids(projects.iter().map(|project| project.as_uuid()))
}

fn bytes(id: &EntryId) -> Uuid {
    Uuid::from_u128(id.0.0)
}
