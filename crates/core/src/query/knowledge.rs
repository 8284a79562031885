//! Knowledge: one entry, lists, searches by words and by meaning, and what bears on an item.

use serde::{Deserialize, Serialize};

use crate::command::no_such_entry;
use crate::engine::Engine;
use crate::error::{Code, Error, Reason};
use crate::knowledge::{ByWords, Field, Ranked, fuse};
use crate::limits;
use crate::model::{Entry, EntryId, EntryLink, Item, ProjectId};
use crate::query::ListedEntry;
use crate::query::cursor::{open, seal};
use crate::search::question_words;
use crate::store::{EntryFilter, Heading, KnowledgeReach, KnowledgeSeen, Listed, ProjectRef, Scope};

/// How many times as many entries as are wanted are looked up: few are gone by then.
const MORE: usize = 2;
/// How many entries bear on an item, at the most.
const DIGEST: usize = 3;
/// How well an entry must answer to bear on an item.
const DIGEST_SCORE: f64 = 0.5;
/// Fewest entries that a list looks at in each project and facet.
const LEAST_WALK: usize = 16;
/// How often a list looks on for a first entry, before it says where to go on.
const LIST_LOOKS: usize = 8;

/// Whether a person has said that an entry is right.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewState {
    /// Nobody has: take it with care.
    Unreviewed,
    /// A person has.
    Reviewed,
}

impl ReviewState {
    /// How an entry stands.
    pub fn of(entry: &Entry) -> Self {
        if entry.review.is_some() { Self::Reviewed } else { Self::Unreviewed }
    }
}

/// An entry with its links.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryView {
    /// The entry.
    #[serde(flatten)]
    pub entry: Entry,
    /// Whether a person has said that it is right; always told.
    pub review_state: ReviewState,
    /// The items it came from and helped with, the newest links first.
    pub links: Vec<EntryLink>,
}

/// A page of entries.
#[derive(Clone, Debug, Default)]
pub struct EntryPage {
    /// The entries, the newest first.
    pub entries: Vec<Entry>,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

/// What is searched for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnowledgeQuery {
    /// Where.
    pub filter: EntryFilter,
    /// The question.
    pub query: String,
    /// How well an entry must answer it, from 0 to 1.
    pub minimum: f64,
    /// How many entries, from 1 to 50.
    pub limit: usize,
}

/// Which halves of a search took part.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchMode {
    /// Words alone.
    #[default]
    Lexical,
    /// Words and vectors.
    Hybrid,
}

/// An entry that answers a question.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeHit {
    /// The entry; its text may be cut, see `truncated`.
    #[serde(flatten)]
    pub entry: Entry,
    /// Whether a person has said that it is right; always told.
    pub review_state: ReviewState,
    /// How well it answers, from 0 to 1.
    pub score: f64,
    /// Whether its text was cut.
    pub truncated: bool,
}

/// What a search found.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeFound {
    /// The entries, the best first.
    pub hits: Vec<KnowledgeHit>,
    /// Which halves took part.
    pub mode: SearchMode,
    /// Why the half by meaning did not take part where it should have, or to what it is blind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
    /// Whether entries that were not looked at might answer as well: the question has words that very many have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// An entry that bears on an item, in short.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The entry.
    pub id: EntryId,
    /// What it is about.
    pub title: String,
    /// The beginning of its text.
    pub excerpt: String,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// Whether a person has said that it is right; always told.
    pub review_state: ReviewState,
}

impl Engine {
    /// One entry with its newest links.
    pub async fn entry(&self, id: EntryId) -> Result<EntryView, Error> {
        let knowledge = KnowledgeReach { entries: vec![id], ..KnowledgeReach::default() };
        let KnowledgeSeen { mut entries, links, .. } =
            self.view(&Scope { knowledge, ..Scope::default() }).await?.knowledge;
        let entry = entries.remove(&id).ok_or_else(|| no_such_entry(id))?;
        Ok(EntryView { review_state: ReviewState::of(&entry), entry, links })
    }

    /// Entries, the newest first, without a question.
    pub async fn list_knowledge(
        &self,
        filter: &EntryFilter,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<EntryPage, Error> {
        let limit = self.page(limit);
        let filter = self.seen_of(filter);
        let mut before = cursor.map(|cursor| open::<_, EntryId>(&filter, cursor)).transpose()?;
        let mut projects = self.store().places(&filter, limits::KNOWLEDGE_PLACES + 1).await?;
        projects.truncate(limits::KNOWLEDGE_PLACES);
        if projects.is_empty() || limit == 0 {
            return Ok(EntryPage::default());
        }
        let under = filter.headings();
        let lists = projects.len() * under.first().map_or(1, Heading::lists);
        let walk = (limits::KNOWLEDGE_WALK / lists.max(1)).max(LEAST_WALK);
        for _ in 0..LIST_LOOKS {
            let Listed { mut entries, beyond } =
                self.store().list_entries(&projects, &under, before, walk, limit + 1).await?;
            // Of what is older than the end of a walk not all was looked at.
            entries.retain(|entry| beyond.is_none_or(|beyond| entry.id > beyond));
            let more = entries.len() > limit;
            entries.truncate(limit);
            let reached = beyond.map(|beyond| EntryId(ulid::Ulid(beyond.0.0.saturating_add(1))));
            let end = if more { entries.last().map(|last| last.id) } else { reached };
            if !entries.is_empty() || end.is_none() {
                return Ok(EntryPage { entries, next: end.map(|end| seal(&filter, &end)) });
            }
            before = end;
        }
        Ok(EntryPage { entries: Vec::new(), next: before.map(|end| seal(&filter, &end)) })
    }

    /// The entries that answer a question best.
    pub async fn search_knowledge(&self, query: &KnowledgeQuery) -> Result<KnowledgeFound, Error> {
        if !(1..=limits::KNOWLEDGE_PAGE).contains(&query.limit) {
            let message = format!("limit must be from 1 to {}, not {}", limits::KNOWLEDGE_PAGE, query.limit);
            return Err(Error::validation(Reason::BadValue, message).at("limit"));
        }
        if !(0.0..=1.0).contains(&query.minimum) {
            return Err(Error::validation(Reason::BadValue, "minScore must be from 0 to 1").at("minScore"));
        }
        if question_words(&query.query).is_empty() && self.library.embedder().is_none() {
            return Err(Error::validation(Reason::BadValue, "query has no word to look for").at("query"));
        }
        let asked = Asked { minimum: query.minimum, limit: query.limit };
        let found = self.search_all(&query.filter, std::slice::from_ref(&query.query), asked).await?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// What bears on an item: at most three entries of its project, each a good answer to what the item says of itself. A
    /// search that fails is no reason to keep work from anybody: then there are none.
    pub async fn digest(&self, item: &Item) -> Vec<Reference> {
        self.digests(std::slice::from_ref(item)).await.pop().unwrap_or_default()
    }

    /// What bears on each of some items. Those of one project cost as many round trips, and as many calls of the embedder,
    /// as one item does.
    pub async fn digests(&self, items: &[Item]) -> Vec<Vec<Reference>> {
        let mut digests = vec![Vec::new(); items.len()];
        let projects: std::collections::BTreeSet<ProjectId> = items.iter().map(|item| item.project).collect();
        for project in projects {
            let of: Vec<usize> = (0..items.len()).filter(|place| items[*place].project == project).collect();
            let questions: Vec<String> = of.iter().map(|place| question(&items[*place])).collect();
            let filter = EntryFilter { project: ProjectRef::Id(project), ..EntryFilter::default() };
            let asked = Asked { minimum: DIGEST_SCORE, limit: DIGEST };
            match self.search_all(&filter, &questions, asked).await {
                Ok(found) => {
                    for (place, found) in of.into_iter().zip(found) {
                        digests[place] = found.hits.iter().map(reference).collect();
                    }
                }
                Err(error) if error.code == Code::Validation => {}
                Err(error) => tracing::warn!(%error, "no knowledge was found for items"),
            }
        }
        digests
    }

    fn seen_of(&self, filter: &EntryFilter) -> EntryFilter {
        EntryFilter { visible: self.access().projects.clone(), ..filter.clone() }
    }

    /// The answers to some questions about the same entries.
    async fn search_all(
        &self,
        filter: &EntryFilter,
        questions: &[String],
        asked: Asked,
    ) -> Result<Vec<KnowledgeFound>, Error> {
        let filter = self.seen_of(filter);
        let field = self.field(&filter).await?;
        let words: Vec<Vec<String>> = questions.iter().map(|question| question_words(question)).collect();
        // Where two orders become one, the places further down count as well; and where not all that were found fit.
        let alone = self.library.embedder().is_none() && field.under.is_empty();
        let wanted = if alone { asked.limit * MORE } else { limits::KNOWLEDGE_CANDIDATES };
        let lexical = self.by_words(&field, &words, wanted).await?;
        let (ranked, mode, degraded) = match self.library.embedder() {
            None => (lexical, SearchMode::Lexical, None),
            Some(embedder) => match self.by_meaning(embedder.as_ref(), &field, questions).await {
                Ok(meaning) => {
                    let both = lexical.into_iter().zip(meaning.ranked);
                    let fused = both
                        .map(|(words, meaning)| ByWords { ranked: fuse(&words.ranked, &meaning), ..words })
                        .collect();
                    (fused, SearchMode::Hybrid, meaning.blind)
                }
                Err(why) => (lexical, SearchMode::Lexical, Some(why)),
            },
        };
        let mut found = self.hits(&filter, &field, ranked, asked).await?;
        for found in &mut found {
            found.mode = mode;
            found.degraded.clone_from(&degraded);
        }
        Ok(found)
    }

    /// The best of what was ranked for each question, read whole. What is not there any more, or does not fit, is left out.
    async fn hits(
        &self,
        filter: &EntryFilter,
        field: &Field,
        ranked: Vec<ByWords>,
        asked: Asked,
    ) -> Result<Vec<KnowledgeFound>, Error> {
        let good = |found: &ByWords| {
            let mut good = found.ranked.clone();
            good.retain(|ranked| ranked.score >= asked.minimum);
            // Few are gone by now; where not all that are near in meaning fit, more are read.
            good.truncate(match (field.under.as_slice(), &field.among) {
                ([], _) => asked.limit * MORE,
                (_, None) => limits::KNOWLEDGE_CANDIDATES * 2,
                (_, Some(_)) => limits::HEADED_ENTRIES,
            });
            good
        };
        let good: Vec<(Vec<Ranked>, bool)> = ranked.iter().map(|found| (good(found), found.partial)).collect();
        let named: std::collections::BTreeSet<EntryId> =
            good.iter().flat_map(|(ranked, _)| ranked).map(|ranked| ranked.entry).collect();
        let mut entries = std::collections::BTreeMap::new();
        if !named.is_empty() {
            let knowledge = KnowledgeReach { entries: named.into_iter().collect(), ..KnowledgeReach::default() };
            entries = self.view(&Scope { knowledge, ..Scope::default() }).await?.knowledge.entries;
        }
        let fits =
            |entry: &&Entry| filter.fits(entry) && field.among.as_ref().is_none_or(|among| among.contains(&entry.id));
        let answers = good.into_iter().map(|(ranked, partial)| {
            let count = ranked.len();
            let found = ranked.into_iter().filter_map(|ranked| Some((entries.get(&ranked.entry)?, ranked.score)));
            let mut hits: Vec<KnowledgeHit> =
                found.filter(|(entry, _)| fits(entry)).map(|(entry, score)| hit(entry.clone(), score)).collect();
            // The nearest in meaning were looked at without regard to what they are filed under.
            let partial = partial || field.among.is_none() && hits.len() < count && hits.len() < asked.limit;
            hits.truncate(asked.limit);
            KnowledgeFound { hits, partial, ..KnowledgeFound::default() }
        });
        Ok(answers.collect())
    }
}

/// How good answers must be, and how many are wanted.
#[derive(Clone, Copy, Debug)]
struct Asked {
    minimum: f64,
    limit: usize,
}

/// What an item says of itself.
fn question(item: &Item) -> String {
    let intent = item.intent.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{} {intent} {}", item.title, item.summary)
}

fn hit(entry: Entry, score: f64) -> KnowledgeHit {
    let ListedEntry { entry, review_state, truncated } = ListedEntry::from(entry);
    // Four digits say all there is to say.
    let score = (score * 10_000.0).round() / 10_000.0;
    KnowledgeHit { entry, review_state, score, truncated }
}

fn reference(hit: &KnowledgeHit) -> Reference {
    Reference {
        id: hit.entry.id,
        title: hit.entry.title.to_string(),
        excerpt: hit.entry.body.to_string(),
        score: hit.score,
        review_state: hit.review_state,
    }
}
