//! Searches by words and by meaning through the real program, with an embedder that answers, with one that fails in each of the
//! ways in which one can, and with a model in a folder.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use docket_tests::web::{Web, command_on};
use serde_json::{Value, json};

/// How long vectors may be waited for: they are made after the commit, at most once a second.
const PATIENCE: Duration = Duration::from_secs(30);
/// Numbers in each vector that the stand-in makes.
const WIDTH: usize = 24;
const QUESTION: &str = "linker%20fails";

/// How an embedder behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Mood {
    Fine,
    Broken,
    Hangs,
    Wider,
    Nonsense,
    Forbids,
}

const MOODS: [Mood; 6] = [Mood::Fine, Mood::Broken, Mood::Hangs, Mood::Wider, Mood::Nonsense, Mood::Forbids];

/// An endpoint that speaks the route of embeddings.
struct StandIn {
    address: String,
    mood: Arc<AtomicU8>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl StandIn {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (mood, asked) = (Arc::new(AtomicU8::new(Mood::Fine as u8)), Arc::<Mutex<Vec<String>>>::default());
        let (its_mood, its_log) = (Arc::clone(&mood), Arc::clone(&asked));
        // It lives as long as the test does.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mood, log) = (Arc::clone(&its_mood), Arc::clone(&its_log));
                std::thread::spawn(move || while answer(&stream, &mood, &log).is_some() {});
            }
        });
        Self { address, mood, asked }
    }

    fn turn(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::SeqCst);
    }

    fn settings(&self) -> String {
        format!("[project]\nslug = \"default\"\n[embedder]\nendpoint = \"http://{}/v1\"\nmodel = \"m\"\n", self.address)
    }
}

/// Answers one request; nothing when there is none any more.
fn answer(stream: &TcpStream, mood: &AtomicU8, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    assert!(line.starts_with("POST /v1/embeddings "), "{line}");
    loop {
        line.clear();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) =
            line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value.trim().parse().unwrap_or_else(|_| panic!("{name}: {value}"));
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let asked: Value = serde_json::from_slice(&body).expect("JSON");
    let texts: Vec<String> = serde_json::from_value(asked["input"].clone()).expect("texts");
    log.lock().expect("a list").extend(texts.iter().cloned());
    let mood = MOODS[usize::from(mood.load(Ordering::SeqCst))];
    let vectors = |width: usize| {
        let row = |(place, text): (usize, &String)| {
            let mut numbers = vector(text);
            numbers.resize(width, 0.0);
            json!({ "index": place, "embedding": numbers })
        };
        json!({ "data": texts.iter().enumerate().map(row).collect::<Vec<_>>() }).to_string()
    };
    let (status, said) = match mood {
        Mood::Fine => ("200 OK", vectors(WIDTH)),
        Mood::Wider => ("200 OK", vectors(WIDTH + 8)),
        Mood::Broken => ("500 Internal Server Error", "{}".to_owned()),
        Mood::Forbids => ("401 Unauthorized", "{}".to_owned()),
        Mood::Nonsense => ("200 OK", "{\"data\": 7}".to_owned()),
        Mood::Hangs => {
            std::thread::sleep(Duration::from_secs(5));
            return None;
        }
    };
    let mut stream = stream;
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", said.len());
    stream.write_all(format!("{head}{said}").as_bytes()).ok()
}

/// What a text means: the first numbers are about building programs, the others tell everything else apart.
fn vector(text: &str) -> Vec<f32> {
    let mut numbers = vec![0.0; WIDTH];
    let close = if text.contains("joined") || text == "linker fails" {
        Some((1.0, 0.0))
    } else if text.contains("gcc") {
        Some((0.8, 0.6))
    } else {
        None
    };
    match close {
        Some((first, second)) => (numbers[0], numbers[1]) = (first, second),
        None => numbers[2 + text.len() % (WIDTH - 2)] = 1.0,
    }
    numbers
}

fn learn(web: &Web) {
    // By words, A and C answer; by meaning B answers best and then A.
    for (title, body) in [
        ("Object files", "are joined by ld"),
        ("The bridge", "a linker of two shores"),
        ("Linker", "it takes gcc"),
        ("Bread", "rye"),
    ] {
        web.post("/knowledge", &json!({ "entries": [{ "title": title, "body": body }] })).with(201);
    }
}

fn titles(found: &Value) -> Vec<&str> {
    found["hits"].as_array().expect("hits").iter().map(|hit| hit["title"].as_str().expect("a title")).collect()
}

/// The answer once all vectors were made.
fn whole(web: &Web, question: &str) -> Value {
    let begun = Instant::now();
    loop {
        let found = web.get(&format!("/knowledge/search?q={question}")).with(200);
        if found["mode"] == "hybrid" && found.get("degraded").is_none() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "vectors are not made: {found}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What a process of its own finds: one that has not failed a moment ago.
fn by_cli(word: &str, folder: &Path) -> Value {
    let ran = command_on(word, folder).args(["--json", "knowledge", "search", "linker", "fails"]).output();
    let ran = ran.expect("the program");
    assert!(ran.status.success(), "a search does not fail with its embedder: {ran:?}");
    serde_json::from_slice(&ran.stdout).expect("JSON")
}

#[test]
fn words_and_meaning_are_one_answer_and_words_alone_when_the_embedder_fails() {
    let embedder = StandIn::start();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("docket.toml"), embedder.settings()).expect("written");
    let word = format!("sqlite:{}", folder.path().join("work.db").display());
    let web = Web::serving(&word, folder.path(), |_| {});
    learn(&web);
    let found = whole(&web, QUESTION);
    // High in both; then the first by meaning, which has none of the words; then the second by words.
    assert_eq!(titles(&found), ["Linker", "Object files", "The bridge"], "{found}");
    let score = |place: usize| found["hits"][place]["score"].as_f64().expect("a score");
    assert!((score(1) - 1.0).abs() < 1e-3, "the same direction is all of the way: {found}");
    assert!(score(0) < score(1), "the order is by both ranks, not by the score: {found}");
    assert_eq!(titles(&by_cli(&word, folder.path())), titles(&found), "another process finds the same");
    let asked = embedder.asked.lock().expect("a list").clone();
    assert_eq!(
        asked.iter().filter(|text| text.ends_with("\nrye")).count(),
        1,
        "a text is made a vector once: {asked:?}"
    );
    for (mood, why) in [
        (Mood::Broken, "500"),
        (Mood::Forbids, "401"),
        (Mood::Hangs, "in time"),
        (Mood::Wider, "32 numbers, and those kept of its model have 24"),
        (Mood::Nonsense, "no list of embeddings"),
    ] {
        embedder.turn(mood);
        let begun = Instant::now();
        let found = by_cli(&word, folder.path());
        assert_eq!(titles(&found), ["Linker", "The bridge"], "{mood:?}: {found}");
        assert_eq!(found["mode"], "lexical", "{mood:?}");
        assert!(found["degraded"].as_str().is_some_and(|told| told.contains(why)), "{mood:?}: {found}");
        assert!(begun.elapsed() < Duration::from_secs(4), "{mood:?}: who asks does not wait for it");
    }
    embedder.turn(Mood::Fine);
    let found = by_cli(&word, folder.path());
    assert_eq!((&found["mode"], titles(&found).len()), (&json!("hybrid"), 3), "it is asked again: {found}");
}

#[test]
fn ready_work_is_begun_with_what_bears_on_it_by_meaning_and_with_less_when_the_embedder_fails() {
    let embedder = StandIn::start();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("docket.toml"), embedder.settings()).expect("written");
    let word = format!("sqlite:{}", folder.path().join("work.db").display());
    let web = Web::serving(&word, folder.path(), |_| {});
    learn(&web);
    whole(&web, QUESTION);
    let key = web.item("files joined");
    let digest = |web: &Web| {
        let told = web.get(&format!("/items/{key}/knowledge")).with(200)["references"].clone();
        let list = told.as_array().expect("a list");
        list.iter().map(|entry| entry["title"].as_str().expect("a title").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(digest(&web), ["Object files", "Linker"], "by meaning");
    embedder.turn(Mood::Broken);
    assert_eq!(digest(&web), ["Object files"], "by the words that they share, and no failure");
}

/// A folder with a model of four words, of which two mean nearly the same.
fn model(folder: &Path) {
    let vocabulary = json!({ "[UNK]": 0, "car": 1, "automobile": 2, "river": 3 });
    let tokenizer = json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "model": { "type": "WordPiece", "vocab": vocabulary },
    });
    let rows: [[f32; 2]; 4] = [[0.0, 0.0], [1.0, 0.1], [0.9, 0.2], [-0.1, 1.0]];
    let shape = json!({ "embeddings": { "dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32] } }).to_string();
    let mut tensors = u64::try_from(shape.len()).expect("short").to_le_bytes().to_vec();
    tensors.extend_from_slice(shape.as_bytes());
    tensors.extend(rows.iter().flatten().flat_map(|number| number.to_le_bytes()));
    std::fs::create_dir(folder).expect("a folder");
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).expect("a file");
    std::fs::write(folder.join("model.safetensors"), tensors).expect("a file");
}

#[test]
fn a_model_in_a_folder_finds_what_was_said_in_other_words() {
    let folder = tempfile::tempdir().expect("a folder");
    model(&folder.path().join("tiny"));
    let settings = "[project]\nslug = \"default\"\n[embedder]\nfolder = \"tiny\"\n";
    std::fs::write(folder.path().join("docket.toml"), settings).expect("written");
    let word = format!("sqlite:{}", folder.path().join("work.db").display());
    let web = Web::serving(&word, folder.path(), |_| {});
    for (title, body) in [("Automobile", "automobile"), ("River", "river")] {
        web.post("/knowledge", &json!({ "entries": [{ "title": title, "body": body }] })).with(201);
    }
    let found = whole(&web, "car");
    assert_eq!(titles(&found), ["Automobile"], "{found}");
}
