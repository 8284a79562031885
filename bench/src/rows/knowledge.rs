//! Searches of a large body of knowledge beside those of a small one: by a word that one entry has, by words that one in a
//! hundred has, and by words that very many have.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use docket_core::command::Import;
use docket_core::model::{Entry, EntryId, Source, Text, Timestamp, Title};
use docket_core::query::KnowledgeQuery;
use docket_store_sqlite::Durability;
use ulid::Ulid;

use crate::base::{Base, PRINCIPAL, call, name, runtime};
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::Samples;

const SMALL: u32 = 1_000;
const LARGE: u32 = 100_000;
/// Entries taken in with one commit.
const AT_ONCE: u32 = 2_000;
const MOST: Bound = Bound::AtMost(3.0);
/// How many different words the texts are made of, and how many each has: one in a hundred has a given one.
const WORDS: u32 = 2_000;
const IN_EACH: u32 = 20;
/// Words that one in eight has.
const COMMON: [&str; 8] = ["parser", "cache", "login", "report", "queue", "index", "socket", "ledger"];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Rare,
    Some,
    Common,
}

const KINDS: [(Kind, &str); 3] = [(Kind::Rare, "one has"), (Kind::Some, "some have"), (Kind::Common, "very many have")];

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    runtime()?.block_on(async {
        let folder = stage.folder("knowledge")?;
        let small = Base::open(&folder.join("small.db"), Durability::Normal).await?;
        fill(&small, SMALL).await?;
        let large = Base::open(&folder.join("large.db"), Durability::Normal).await?;
        fill(&large, LARGE).await?;
        let calls = stage.pick(200, 60);
        let mut rows = Vec::with_capacity(KINDS.len());
        for (kind, said) in KINDS {
            let (mut of_large, mut of_small) = (Samples::default(), Samples::default());
            for place in 0..calls + 10 {
                let place = u32::try_from(place)?;
                let a = time(&large, kind, LARGE, place).await?;
                let b = time(&small, kind, SMALL, place).await?;
                if place >= 10 {
                    of_large.time(a);
                    of_small.time(b);
                }
            }
            let name = format!("knowledge by words that {said}, p50, {LARGE} entries to {SMALL}");
            rows.push(Row::versus(name, Unit::Seconds, of_large.median(), of_small.median(), MOST));
        }
        large.close().await;
        small.close().await;
        Ok(rows)
    })
}

/// Times one search. What it is about lies all over the database.
async fn time(base: &Base, kind: Kind, entries: u32, place: u32) -> Result<Duration> {
    let number = place.wrapping_mul(2_654_435_761) % entries;
    let word = |step: u32| format!("w{}", word_of(number, step));
    let query = match kind {
        Kind::Rare => format!("n{number} {} {}", word(1), common(number, 0)),
        Kind::Some => format!("{} {} {}", word(1), word(2), word(3)),
        Kind::Common => format!("{} {} {}", common(number, 0), common(number, 1), common(number, 2)),
    };
    let query = KnowledgeQuery { query, limit: 10, ..KnowledgeQuery::default() };
    let begun = Instant::now();
    let found = base.engine.search_knowledge(&query).await?;
    let took = begun.elapsed();
    let best = found.hits.first().context("nothing was found")?;
    // All words of the question are those of one entry, and by one of them alone it is told from all others.
    let wanted = match kind {
        Kind::Rare => best.entry.id == id(number)?,
        Kind::Some => (1..=3).all(|step| best.entry.body.as_str().split(' ').any(|has| has == word(step))),
        Kind::Common => (0..3).all(|step| best.entry.title.as_str().contains(common(number, step))),
    };
    ensure!(wanted, "the best answer to {:?} is {:?}", query.query, best.entry.title);
    Ok(took)
}

async fn fill(base: &Base, entries: u32) -> Result<()> {
    let numbers: Vec<u32> = (0..entries).collect();
    for numbers in numbers.chunks(AT_ONCE as usize) {
        let entries = numbers.iter().map(|number| entry(base, *number)).collect::<Result<_>>()?;
        let import = Import { projects: vec![base.project.clone()], entries, ..Import::default() };
        base.engine.run(call()?, import).await?;
    }
    Ok(())
}

fn entry(base: &Base, number: u32) -> Result<Entry> {
    let words: Vec<String> = (1..=IN_EACH).map(|step| format!("w{}", word_of(number, step))).collect();
    let at = made_at(number);
    let title = format!("{} {} {} n{number}", common(number, 0), common(number, 1), common(number, 2));
    Ok(Entry {
        id: id(number)?,
        project: base.project.id,
        title: Title::parse(&title).map_err(docket_core::Error::from)?,
        body: Text::parse(&words.join(" ")).map_err(docket_core::Error::from)?,
        tags: Vec::new(),
        source: Source::Agent,
        source_item: None,
        author: name(PRINCIPAL)?,
        updated_by: name(PRINCIPAL)?,
        created_at: at,
        updated_at: at,
        version: 1,
        review: None,
    })
}

fn made_at(number: u32) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + i64::from(number))
}

fn id(number: u32) -> Result<EntryId> {
    Ok(EntryId(Ulid::from_parts(u64::try_from(made_at(number).as_millis())?, u128::from(number))))
}

/// A word of an entry's text. That an entry has one says nothing about the others it has, nor about those of its neighbours: two
/// words that one in a hundred has each are in one of ten thousand together.
fn word_of(number: u32, step: u32) -> u64 {
    let mut mixed = (u64::from(number) << 32 | u64::from(step)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % u64::from(WORDS)
}

fn common(number: u32, step: u32) -> &'static str {
    let place = (number.wrapping_mul(40_503).wrapping_add(step * 3)) as usize % COMMON.len();
    COMMON[place]
}
