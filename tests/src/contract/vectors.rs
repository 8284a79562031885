//! Vectors: of one model for the whole database, made by one process at a time, of the texts that entries have now.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use docket_core::Engine;
use docket_core::knowledge::{EmbedError, Embedder, Patience, Round};
use docket_core::model::{Entry, EntryTie, Review, Timestamp};
use docket_core::query::SearchMode;
use docket_core::store::{ChangeSet, EntryChange, KnowledgeChanges, Making, MakingChange, NewVector, Store};

use super::knowledge::{added, ask, engine, named, tag, text, written};
use super::support::{Bench, entry, entry_link, item, name};

/// Points a text at one of three directions, by the words in it, and any other text somewhere else.
#[derive(Debug)]
struct Directions {
    model: &'static str,
    /// How many numbers its vectors have.
    width: usize,
    /// It refuses whatever holds this word.
    refuses: Option<&'static str>,
    /// It cannot be reached.
    away: bool,
    calls: AtomicUsize,
}

impl Directions {
    fn new() -> Self {
        Self { model: "directions", width: 8, refuses: None, away: false, calls: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Embedder for Directions {
    fn model(&self) -> &str {
        self.model
    }

    async fn embed(&self, texts: &[String], _: Patience) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if self.away {
            return Err(EmbedError::Away("it cannot be reached".to_owned()));
        }
        if texts.iter().any(|text| self.refuses.is_some_and(|word| text.contains(word))) {
            return Err(EmbedError::Rejected("it answered 400".to_owned()));
        }
        let vector = |text: &String| {
            let mut numbers = vec![-0.1_f32; self.width];
            let topics = [&["car", "automobile"][..], &["river", "stream"], &["filler"]];
            for (place, words) in topics.into_iter().enumerate() {
                if words.iter().any(|word| text.contains(word)) {
                    numbers[place] = 1.0;
                }
            }
            if numbers.iter().all(|number| *number < 0.0) {
                let place = text.bytes().map(usize::from).sum::<usize>() % (self.width - 3);
                numbers[3 + place] = 1.0;
            }
            numbers
        };
        Ok(texts.iter().map(vector).collect())
    }
}

fn with(bench: &Bench, embedder: Directions) -> (Engine, Arc<Directions>) {
    let embedder = Arc::new(embedder);
    (engine(bench).with_embedder(Arc::clone(&embedder) as Arc<dyn Embedder>), embedder)
}

async fn make_all(engine: &Engine, maker: &str) -> (usize, usize) {
    let (mut all, mut none) = (0, 0);
    while let Round::Made { kept, refused } = engine.embed_pending(maker).await.expect("vectors") {
        all += kept;
        none += refused;
    }
    (all, none)
}

fn changed(after: Entry, text: bool) -> ChangeSet {
    let change = EntryChange { read_version: after.version - 1, entry: after, words: true, text };
    written(KnowledgeChanges { changed_entries: vec![change], ..KnowledgeChanges::default() })
}

/// A vector is of the text that its entry has now; places grow, and one kept again moves to the end.
pub async fn vectors_follow_the_text_of_their_entry(bench: Bench) {
    let (first, second) = (entry(&bench.project, "one", "x"), entry(&bench.project, "two", "x"));
    bench.put(added(&[first.clone(), second.clone()])).await;
    let vector = |entry: &Entry, numbers: &[f32]| NewVector {
        entry: entry.id,
        read_version: entry.version,
        generation: 1,
        numbers: numbers.to_vec(),
    };
    let keep = |vectors: Vec<NewVector>| written(KnowledgeChanges { vectors, ..KnowledgeChanges::default() });
    assert_eq!(bench.store.pending(9).await.expect("entries"), [first.clone(), second.clone()]);
    bench.put(keep(vec![vector(&first, &[0.5, -1.5, 3.25]), vector(&second, &[-1.0, 1.0, 0.0])])).await;
    assert_eq!(bench.store.pending(9).await.expect("entries"), []);
    let sketches = bench.store.sketches(1, 0, 9).await.expect("sketches");
    let told: Vec<_> = sketches.rows.iter().map(|sketch| (sketch.place, sketch.entry, sketch.bits.clone())).collect();
    assert_eq!(told, [(1, first.id, vec![0b101]), (2, second.id, vec![0b010])]);
    assert!(sketches.rows.iter().all(|sketch| sketch.project == bench.project.id));
    assert_eq!((sketches.making.generation, sketches.stored), (1, 2));
    bench.put(keep(vec![vector(&first, &[1.0, 1.0, 1.0])])).await;
    let newer = bench.store.sketches(1, 2, 9).await.expect("sketches").rows;
    assert_eq!(newer.iter().map(|sketch| (sketch.place, sketch.entry)).collect::<Vec<_>>(), [(3, first.id)]);
    let mut vectors = bench.store.vectors(&[first.id, second.id]).await.expect("vectors");
    vectors.sort_by_key(|(entry, _)| *entry);
    assert_eq!(vectors, [(first.id, vec![1.0, 1.0, 1.0]), (second.id, vec![-1.0, 1.0, 0.0])]);
    let review = Some(Review { by: name("boss"), at: Timestamp::from_millis(1) });
    let same_text = Entry { tags: vec![tag("t")], review, version: 2, ..second.clone() };
    bench.put(changed(same_text.clone(), false)).await;
    assert_eq!(bench.store.pending(9).await.expect("entries"), [], "a review or a tag costs no vector");
    let after = Entry { body: text("else"), version: 3, ..same_text };
    bench.put(changed(after.clone(), true)).await;
    assert_eq!(bench.store.pending(9).await.expect("entries"), [after], "its vector is of the old text");
    assert_eq!(bench.store.vectors(&[second.id]).await.expect("vectors"), [], "and answers no more");
    bench.put(keep(vec![vector(&first, &[])])).await;
    assert_eq!(bench.store.vectors(&[first.id]).await.expect("vectors"), [], "of a refused text there is none");
    assert_eq!(bench.store.pending(9).await.expect("entries").len(), 1, "and it is not asked for again");
    let read = bench.store.view(&named(&[])).await.expect("a slice").knowledge.making;
    let making = Making { generation: 2, model: "other".to_owned(), width: 3, ..read.clone() };
    let making = Some(MakingChange { read, making: making.clone() });
    bench.put(written(KnowledgeChanges { making, ..KnowledgeChanges::default() })).await;
    assert_eq!(bench.store.pending(9).await.expect("entries").len(), 2, "another generation has none yet");
    bench.put(written(KnowledgeChanges { removed_entries: vec![first.id], ..KnowledgeChanges::default() })).await;
    assert_eq!(bench.store.pending(9).await.expect("entries").len(), 1);
    bench.is_sound().await;
}

/// By words and by meaning; a question asks the database as often over many entries as over few.
pub async fn searches_answer_alike_and_cost_the_same_however_many_there_are(bench: Bench) {
    let wanted = entry(&bench.project, "Buying an automobile", "go to a dealer");
    let water = entry(&bench.project, "Crossing a river", "take a boat");
    bench.put(added(&[wanted.clone(), water.clone()])).await;
    let plain = engine(&bench);
    let found = plain.search_knowledge(&ask("river boat")).await.expect("an answer");
    assert_eq!((found.mode, found.hits.len(), found.hits[0].entry.id), (SearchMode::Lexical, 1, water.id));
    assert!(found.hits[0].score > 0.8, "{}", found.hits[0].score);
    let found = plain.search_knowledge(&ask("car")).await.expect("an answer");
    assert_eq!(found.hits, [], "no word of it is there");
    let (engine, _) = with(&bench, Directions::new());
    let found = engine.search_knowledge(&ask("car")).await.expect("an answer");
    assert_eq!(found.degraded.as_deref(), Some("2 of 2 entries have no vector yet"), "{found:?}");
    assert_eq!(make_all(&engine, "m").await, (2, 0));
    let found = engine.search_knowledge(&ask("car")).await.expect("an answer");
    assert_eq!((found.mode, found.degraded.as_deref()), (SearchMode::Hybrid, None));
    assert_eq!(found.hits[0].entry.id, wanted.id);
    assert!(found.hits[0].score >= 0.5, "{:?}", found.hits[0].score);
    let before = bench.store.round_trips();
    engine.search_knowledge(&ask("river boat filler")).await.expect("an answer");
    let few = bench.store.round_trips() - before;
    let many: Vec<Entry> =
        (0..700).map(|number| entry(&bench.project, &format!("filler {number}"), "river filler")).collect();
    bench.put(added(&many)).await;
    assert_eq!(make_all(&engine, "m").await, (700, 0));
    let before = bench.store.round_trips();
    let found = engine.search_knowledge(&ask("river boat filler")).await.expect("an answer");
    let more = bench.store.round_trips() - before;
    // Two more questions beside five, for the words that very many have.
    assert!(more * 2 <= few * 3, "{few} round trips over 2 entries, {more} over 702");
    assert!(found.hits.iter().any(|hit| hit.entry.id == water.id), "the rare word is what counts: {:?}", found.hits);
    let words = ["filler".to_owned()];
    let lists = bench.store.postings(&[bench.project.id], &words, &[], 512).await.expect("postings");
    assert_eq!(lists[0].entries.len(), 512, "no more are looked at for a word that very many have");
}

/// What bears on many items costs one call of the embedder and as many round trips as for one; an embedder that is away keeps
/// nobody from work.
pub async fn digests_of_many_items_cost_what_one_costs(bench: Bench) {
    let learned = entry(&bench.project, "gasket torque", "tighten the automobile crosswise");
    bench.put(added(std::slice::from_ref(&learned))).await;
    let mut items: Vec<_> = (1..=20).map(|number| item(&bench.project, number, "gasket torque")).collect();
    items[7].title = docket_core::model::Title::parse("unrelated weather").expect("a title");
    let (engine, embedder) = with(&bench, Directions::new());
    make_all(&engine, "m").await;
    engine.digests(&items[..1]).await;
    let before = bench.store.round_trips();
    engine.digests(&items[..1]).await;
    let one = bench.store.round_trips() - before;
    let (before, calls) = (bench.store.round_trips(), embedder.calls.load(Ordering::SeqCst));
    let digests = engine.digests(&items).await;
    assert_eq!(embedder.calls.load(Ordering::SeqCst) - calls, 1, "one call for all");
    assert!(bench.store.round_trips() - before <= one + 1, "{one} for one");
    assert_eq!(digests.len(), 20);
    for (place, digest) in digests.iter().enumerate() {
        let found: Vec<_> = digest.iter().map(|reference| reference.id).collect();
        assert_eq!(found, if place == 7 { vec![] } else { vec![learned.id] }, "{place}");
    }
    let (engine, _) = with(&bench, Directions { away: true, ..Directions::new() });
    let found = engine.search_knowledge(&ask("gasket")).await.expect("an answer");
    assert_eq!(found.degraded.as_deref(), Some("the embedder is away: it cannot be reached"));
    assert_eq!(engine.digest(&items[0]).await.len(), 1, "by words alone");
}

/// A text that the embedder refuses does not keep others from getting a vector, and is not sent again until it changes; one
/// that refuses everything marks nothing.
pub async fn a_text_that_is_refused_does_not_stop_the_others(bench: Bench) {
    let bad = entry(&bench.project, "poison", "x");
    let good: Vec<Entry> = (0..5).map(|number| entry(&bench.project, &format!("car {number}"), "x")).collect();
    bench.put(added(&[std::slice::from_ref(&bad), good.as_slice()].concat())).await;
    let (hostile, _) = with(&bench, Directions { refuses: Some(""), ..Directions::new() });
    hostile.embed_pending("m").await.expect_err("it refuses everything");
    assert_eq!(bench.store.pending(9).await.expect("entries").len(), 6, "that says nothing of the texts");
    let (engine, embedder) = with(&bench, Directions { refuses: Some("poison"), ..Directions::new() });
    assert_eq!(make_all(&engine, "m").await, (5, 1));
    let calls = embedder.calls.load(Ordering::SeqCst);
    assert_eq!(engine.embed_pending("m").await.expect("a round"), Round::Idle);
    assert_eq!(embedder.calls.load(Ordering::SeqCst), calls, "it is not sent again");
    bench.put(changed(Entry { body: text("y"), version: 2, ..bad }, true)).await;
    assert_eq!(make_all(&engine, "m").await, (0, 1), "until it changes");
}

/// Two processes do not make the same vectors; when one is gone the other goes on.
pub async fn one_process_at_a_time_makes_vectors(bench: Bench) {
    let many: Vec<Entry> = (0..40).map(|number| entry(&bench.project, &format!("car {number}"), "x")).collect();
    bench.put(added(&many)).await;
    let (here, _) = with(&bench, Directions::new());
    let skew = Arc::new(std::sync::atomic::AtomicI64::new(0));
    let other = bench.ahead(Arc::clone(&skew)).await;
    let embedder = Arc::new(Directions::new());
    let there = Engine::new(other as Arc<dyn Store>).with_embedder(Arc::clone(&embedder) as Arc<dyn Embedder>);
    assert_eq!(here.embed_pending("here").await.expect("a round"), Round::Made { kept: 32, refused: 0 });
    assert_eq!(there.embed_pending("there").await.expect("a round"), Round::Elsewhere);
    assert_eq!(embedder.calls.load(Ordering::SeqCst), 0, "nothing is made twice");
    skew.store(120_000, Ordering::SeqCst);
    assert_eq!(there.embed_pending("there").await.expect("a round"), Round::Made { kept: 8, refused: 0 });
    assert_eq!(there.embed_pending("there").await.expect("a round"), Round::Idle);
}

/// A database keeps the vectors of one model: another does not overwrite them, says what is the matter, and makes all anew only
/// when it is told to. So does one of the same name whose vectors have another length.
pub async fn one_model_for_the_whole_database(bench: Bench) {
    let made = entry(&bench.project, "automobile", "x");
    bench.put(added(std::slice::from_ref(&made))).await;
    let (first, _) = with(&bench, Directions::new());
    make_all(&first, "m").await;
    let (second, _) = with(&bench, Directions { model: "other", ..Directions::new() });
    bench.put(added(&[entry(&bench.project, "stream", "x")])).await;
    let round = second.embed_pending("m").await.expect("a round");
    assert_eq!(round, Round::OtherModel("directions".to_owned()));
    let found = second.search_knowledge(&ask("car")).await.expect("an answer");
    assert_eq!(found.mode, SearchMode::Lexical);
    assert!(found.degraded.is_some_and(|why| why.contains("directions") && why.contains("docket knowledge embed")));
    make_all(&first, "m").await;
    assert_eq!(first.search_knowledge(&ask("car")).await.expect("an answer").hits[0].entry.id, made.id);
    let (longer, _) = with(&bench, Directions { width: 9, ..Directions::new() });
    let found = longer.search_knowledge(&ask("car")).await.expect("an answer");
    assert_eq!(found.mode, SearchMode::Lexical, "vectors of another length cannot be compared");
    assert!(found.degraded.is_some_and(|why| why.contains('9') && why.contains('8')));
    longer.adopt_model("m").await.expect("adopted");
    assert_eq!(make_all(&longer, "m").await, (2, 0), "all anew");
    assert_eq!(longer.search_knowledge(&ask("car")).await.expect("an answer").hits[0].entry.id, made.id);
    second.adopt_model("m").await.expect("adopted");
    let found = second.search_knowledge(&ask("car")).await.expect("an answer");
    assert!(found.degraded.is_some_and(|why| why.contains("2 of 2")), "none of the new model yet");
    assert_eq!(make_all(&second, "m").await, (2, 0));
    let found = second.search_knowledge(&ask("car")).await.expect("an answer");
    assert_eq!((found.mode, found.degraded, found.hits[0].entry.id), (SearchMode::Hybrid, None, made.id));
    let found = first.search_knowledge(&ask("car")).await.expect("an answer");
    assert!(found.degraded.is_some_and(|why| why.contains("other")), "now the first is the one that is behind");
}

/// Entries that fit a filter are searched by meaning among themselves, however many others lie nearer.
pub async fn meaning_is_looked_for_among_those_that_are_meant(bench: Bench) {
    let a = item(&bench.project, 1, "a");
    bench.put_items(std::slice::from_ref(&a)).await;
    let meant = Entry { tags: vec![tag("rare")], ..entry(&bench.project, "river automobile", "x") };
    let links = vec![entry_link(&meant, &a, EntryTie::Used)];
    let knowledge = KnowledgeChanges { new_entries: vec![meant.clone()], links, ..KnowledgeChanges::default() };
    bench.put(written(knowledge)).await;
    let many: Vec<Entry> = (0..200).map(|number| entry(&bench.project, &format!("automobile {number}"), "x")).collect();
    bench.put(added(&many)).await;
    let (engine, _) = with(&bench, Directions::new());
    make_all(&engine, "m").await;
    for filter in [
        docket_core::store::EntryFilter { tags: vec![tag("rare")], ..Default::default() },
        docket_core::store::EntryFilter { item: Some(a.id), ..Default::default() },
    ] {
        let query = docket_core::query::KnowledgeQuery { filter, ..ask("car") };
        let found = engine.search_knowledge(&query).await.expect("an answer");
        assert_eq!(found.hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), [meant.id]);
    }
}
