//! Every verb, doing what it is for.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::desk::Desk;

#[test]
fn items_are_made_and_shown() {
    let desk = Desk::new();
    let epic = desk.add(&["Epic", "--type", "feature"]);
    let task = desk.add(&[
        "Write the parser",
        "--parent",
        &epic,
        "--priority",
        "high",
        "--complexity",
        "3",
        "--tags",
        "parser,urgent",
        "--traits",
        "tested",
        "--touches",
        "src/**",
        "--needs",
        "ci",
        "--capability",
        "rust",
        "--summary",
        "short",
        "--description",
        "long",
        "--metadata",
        "m",
        "--requires-verification",
    ]);
    assert_eq!((epic.as_str(), task.as_str()), ("W-1", "W-2"));
    let shown = desk.json(&["item", "show", &task]);
    let item = &shown["item"];
    assert_eq!(item["tags"], json!(["parser", "urgent"]));
    assert_eq!(
        (&item["priority"], &item["complexity"], &item["requiresVerification"]),
        (&json!("high"), &json!(3), &json!(true))
    );
    assert_eq!(
        (&item["description"], &item["summary"], &item["metadata"]),
        (&json!("long"), &json!("short"), &json!("m"))
    );
    assert_eq!(shown["ancestors"][0]["key"], json!("W-1"));
    let seen = desk.ok(&["item", "show", &task]);
    for part in ["W-2 Write the parser", "high", "W-1 Epic", "parser, urgent", "src/**", "needs an agent that can rust"]
    {
        assert!(seen.contains(part), "{part} is not in {seen}");
    }
    let id = item["id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.field(&id, "key"), json!("W-2"), "by its id");
    assert_eq!(desk.field(&id.replace('-', "").to_uppercase()[..30], "key"), json!("W-2"), "by the beginning of it");
}

#[test]
fn items_are_changed_listed_and_removed() {
    let desk = Desk::new();
    let epic = desk.add(&["Epic", "--type", "feature"]);
    let task = desk.add(&["Write the parser", "--parent", &epic, "--complexity", "3", "--description", "long"]);
    desk.ok(&[
        "item",
        "edit",
        &task,
        "--title",
        "Parse",
        "--tags",
        "x",
        "--label",
        "soon",
        "--clear",
        "complexity,description,parent",
    ]);
    let item = &desk.json(&["item", "show", &task])["item"];
    assert_eq!((&item["title"], &item["tags"], &item["statusLabel"]), (&json!("Parse"), &json!(["x"]), &json!("soon")));
    assert_eq!(
        (&item["complexity"], &item["description"], &item["parent"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(
        desk.error(5, &["item", "edit", &task, "--title", "x", "--if-version", "1"])["reason"],
        json!("version_mismatch")
    );
    let listed = desk.json(&["item", "list", "--sort", "title", "--order", "desc"]);
    let titles: Vec<&str> =
        listed["items"].as_array().expect("items").iter().filter_map(|item| item["title"].as_str()).collect();
    assert_eq!((titles, &listed["total"]), (vec!["Parse", "Epic"], &json!(2)));
    assert_eq!(desk.json(&["item", "list", "--tags", "x"])["total"], json!(1));
    assert_eq!(desk.json(&["item", "list", "--type", "feature"])["items"][0]["key"], json!("W-1"));
    assert_eq!(desk.json(&["item", "list", "--parent", &epic])["total"], json!(0));
    assert!(desk.ok(&["item", "list", "--limit", "1"]).contains("1 of 2 shown; --cursor "));
    let first = desk.json(&["item", "list", "--limit", "1"]);
    let cursor = first["nextCursor"].as_str().expect("a cursor");
    let second = desk.json(&["item", "list", "--limit", "1", "--cursor", cursor]);
    assert_eq!((&second["items"][0]["key"], &second["nextCursor"]), (&json!("W-2"), &Value::Null));
    let refused = desk.error(2, &["item", "list", "--all", "--cursor", cursor]);
    assert_eq!(refused["reason"], json!("bad_cursor"), "of another list: {refused}");

    assert_eq!(desk.ok(&["item", "rm", &task]), "removed W-2\n");
    desk.fails(2, &["item", "show", &task]);
    let child = desk.add(&["Child", "--parent", &epic]);
    let refused = desk.fails(5, &["item", "rm", &epic]);
    assert!(refused.contains("--recursive"), "{refused}");
    assert_eq!(child, "W-3", "numbers are never given out again");
    assert!(desk.ok(&["item", "rm", &epic, "--recursive"]).contains("and 1 beneath it"));
    assert!(desk.ok(&["item", "list"]).contains("nothing"));
}

#[test]
fn a_long_text_comes_from_a_file_or_from_standard_input() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    desk.write("plan.md", "first\nsecond\n");
    desk.ok(&["note", "set", &item, "plan", "--file", "plan.md"]);
    assert_eq!(desk.ok(&["note", "show", &item, "plan"]), "first\nsecond\n");
    desk.run_fed(b"from a pipe", &["note", "set", &item, "plan", "-"]).good();
    assert_eq!(desk.ok(&["note", "show", &item, "plan"]), "from a pipe\n");
    desk.run_fed(b"by file", &["note", "set", &item, "more", "--file", "-", "--phase", "review"]).good();
    let notes = desk.json(&["note", "list", &item]);
    assert_eq!((&notes[0]["key"], &notes[1]["key"]), (&json!("more"), &json!("plan")), "in order");
    assert_eq!((&notes[0]["phase"], &notes[0]["by"]["actor"]["id"]), (&json!("review"), &json!("ann")));
    assert!(desk.ok(&["note", "list", &item]).contains("more"));
    desk.run_fed(b"described", &["item", "edit", &item, "--description", "-"]).good();
    assert_eq!(desk.field(&item, "description"), json!("described"));
    assert_eq!(desk.ok(&["note", "rm", &item, "plan"]), "removed 1 note\n");
    desk.fails(2, &["note", "rm", &item, "plan"]);
    let gone = desk.fails(2, &["note", "show", &item, "plan"]);
    assert!(gone.contains("it has more"), "{gone}");
    assert_eq!(desk.ok(&["note", "rm", &item, "--all"]), "removed 1 note\n");
    assert!(desk.ok(&["note", "list", &item]).contains("no notes"));
    desk.fails(3, &["note", "set", &item, "plan", "--file", "none.md"]);
    desk.fails(2, &["note", "set", &item, "plan"]);
}

#[test]
fn ready_work_is_found_claimed_moved_and_released() {
    let desk = Desk::new();
    let (low, high) = (desk.add(&["Low", "--priority", "low"]), desk.add(&["High", "--priority", "high"]));
    let waiting = desk.add(&["Waits", "--blocked-by", &high]);
    let ready = desk.json(&["next"]);
    let keys: Vec<&Value> = ready["items"].as_array().expect("items").iter().map(|item| &item["key"]).collect();
    assert_eq!(keys, [&json!(high), &json!(low)]);

    let offer = desk.json(&["--actor", "agent:a", "claim", "--next", "--ttl", "15m"]);
    assert_eq!(offer["held"]["claim"]["holder"], json!("a"));
    assert_eq!((&offer["item"]["title"], &offer["held"]["fence"]), (&json!("High"), &json!(1)));
    let taken = desk.error(5, &["--actor", "agent:b", "claim", &high]);
    assert_eq!((&taken["code"], &taken["reason"]), (&json!("CONFLICT"), &json!("already_claimed")));
    assert!(taken["retryAfterMs"].as_u64().is_some_and(|left| left > 800_000), "{taken}");
    assert!(!taken.to_string().contains("\"a\""), "who holds it is not told: {taken}");
    let listed = desk.json(&["item", "list"]).to_string();
    assert!(listed.contains("expiresAt") && !listed.contains("holder"), "a list does not say who holds: {listed}");
    assert_eq!(desk.field(&high, "claim")["holder"], json!("a"), "the item's own context does");

    assert!(desk.fails(5, &["advance", &high, "start"]).contains("ownership"), "ann does not hold it");
    let moved = desk.json(&["--actor", "agent:a", "advance", &high, "start", "--fence", "1", "--summary", "on it"]);
    assert_eq!(
        (&moved["fromRole"], &moved["toRole"], &moved["label"]),
        (&json!("queue"), &json!("work"), &json!("in-progress"))
    );
    desk.ok(&["--actor", "agent:a", "release", &high]);
    desk.fails(5, &["--actor", "agent:a", "release", &high]);
    let both = desk.run(&["--actor", "agent:b", "claim", &high, &low]);
    assert!(
        both.code == 7 && both.err.contains("may hold 1 claim(s)"),
        "the first is claimed, the second not: {both:?}"
    );
    let stale = desk.error(5, &["--actor", "agent:a", "advance", &high, "complete", "--fence", "1"]);
    assert_eq!(stale["reason"], json!("claim_lost"), "{stale}");

    let refused = desk.fails(5, &["advance", &waiting, "start"]);
    assert!(refused.contains("dependencies") && refused.contains("W-2 \"High\" must be closed first"), "{refused}");
    assert!(refused.contains("to mend it"), "{refused}");
    let done = desk.ok(&["--actor", "agent:b", "advance", &high, "complete"]);
    assert!(done.contains("unblocked W-3 \"Waits\""), "{done}");
}

#[test]
fn a_claim_may_name_several_and_says_of_each_how_it_ended() {
    let desk = Desk::new();
    desk.write("docket.toml", "[workflow]\nclaims.per_agent = 0\n");
    let (a, b) = (desk.add(&["a"]), desk.add(&["b"]));
    desk.ok(&["--actor", "agent:x", "claim", &b]);
    let ran = desk.run(&["claim", &a, &b, "W-99"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.out.contains("claimed W-1"), "{ran:?}");
    assert!(ran.err.contains("W-2 is claimed by somebody else") && ran.err.contains("no item \"W-99\""), "{ran:?}");
    let ran = desk.run(&["release", &a, &b]);
    assert_eq!((ran.code, ran.out.as_str()), (5, "released W-1\n"), "{ran:?}");
}

#[test]
fn whoever_waits_for_work_gets_it_when_it_comes() {
    let desk = Desk::new();
    let mut command = desk.command(&["--json", "claim", "--next", "--wait", "30s"]);
    let waiting = command.stdout(Stdio::piped()).spawn().expect("a waiter");
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    desk.add(&["At last"]);
    let output = waiting.wait_with_output().expect("an end");
    let offer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
    assert_eq!(offer["item"]["title"], json!("At last"));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(desk.ok(&["claim", "--next", "--wait", "1"]).contains("nothing is ready"));
}

#[test]
fn work_that_an_agent_cannot_do_is_left_to_others() {
    let desk = Desk::new();
    desk.add(&["Hard", "--capability", "rust"]);
    assert!(desk.ok(&["claim", "--next"]).contains("1 passed over"));
    assert!(desk.ok(&["claim", "--next", "--capability", "rust,go"]).contains("claimed W-1"));
}

#[test]
fn edges_are_made_in_every_kind_and_removed() {
    let desk = Desk::standard();
    let keys: Vec<String> = (0..6).map(|number| desk.add(&[&format!("item {number}")])).collect();
    let key = |index: usize| keys[index].as_str();
    let made = desk.json(&["link", key(0), "blocks", key(1), "--unblock-at", "review"]);
    assert_eq!((&made["edges"][0]["kind"], &made["edges"][0]["unblockAt"]), (&json!("blocks"), &json!("review")));
    let made = desk.json(&["link", key(2), "is-blocked-by", key(1)]);
    assert_eq!(made["edges"][0]["inverse"], json!(true));
    desk.ok(&["link", key(3), "relates-to", key(0)]);
    desk.ok(&["link", key(4), "supersedes", key(3)]);
    assert!(desk.ok(&["link", key(5), "duplicate_of", key(0)]).contains("W-6 \"item 5\" is a duplicate of W-1"));
    let why = desk.ok(&["why", key(5)]);
    assert!(why.contains("a duplicate of W-1") && why.contains("→"), "{why}");
    let all = desk.json(&["why"]);
    let reasons = |key: &str| {
        all.as_array().expect("items").iter().find(|why| why["item"]["key"] == key).expect("the item")["obstacles"]
            .clone()
    };
    assert_eq!(reasons("W-2")[0]["reason"], json!("waits-for"));
    assert_eq!(reasons("W-1"), json!([]));
    let blocked = desk.json(&["blocked"]);
    assert_eq!(blocked["items"].as_array().map(Vec::len), Some(2));
    assert!(desk.ok(&["blocked"]).contains("for W-1 item 0, in backlog, to reach review"));

    let cycle = desk.error(2, &["link", key(2), "blocks", key(0)]);
    assert_eq!(cycle["reason"], json!("cycle"), "{cycle}");
    assert_eq!(desk.error(2, &["link", key(0), "blocks", key(0)])["reason"], json!("self_edge"));
    assert_eq!(desk.error(5, &["link", key(0), "blocks", key(1)])["reason"], json!("duplicate"));
    desk.ok(&["unlink", key(1), key(0), "--kind", "blocks"]);
    desk.fails(2, &["unlink", key(1), key(0)]);
    assert!(desk.ok(&["unlink", key(0), "--all"]).lines().count() == 2);
    assert!(desk.ok(&["unlink", key(0), "--all"]).contains("no edges"));
}

#[test]
fn the_tree_the_search_and_the_overview_show_what_there_is() {
    let desk = Desk::new();
    let root = desk.add(&["Großes Vorhaben"]);
    let child = desk.add(&["Lexer", "--parent", &root, "--summary", "reads tokens"]);
    let closed = desk.add(&["Old", "--parent", &root]);
    desk.ok(&["advance", &closed, "cancel"]);
    desk.ok(&["advance", &child, "start"]);
    let tree = desk.ok(&["tree"]);
    assert!(tree.contains("└─ W-2 Lexer") && !tree.contains("Old"), "{tree}");
    assert!(desk.ok(&["tree", &root, "--all"]).contains("Old"));
    assert_eq!(desk.json(&["tree"])["roots"][0]["children"][0]["key"], json!("W-2"));
    assert_eq!(desk.json(&["search", "GROSS"])["total"], json!(0), "ß is not ss");
    assert_eq!(desk.json(&["search", "vorhab"])["items"][0]["key"], json!("W-1"));
    assert_eq!(desk.json(&["search", "tok", "lex"])["total"], json!(1), "title and summary, each word");
    desk.fails(2, &["search", "!?"]);
    let overview = desk.ok(&["overview"]);
    assert!(overview.contains("Großes Vorhaben") && overview.contains("In work and review"), "{overview}");
    let overview = desk.json(&["overview"]);
    assert_eq!(overview["roots"][0]["tally"]["byRole"]["terminal"], json!(1), "{overview}");
}

#[test]
fn events_tell_who_did_what_and_can_be_followed() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    desk.ok(&["--actor", "orchestrator:boss", "advance", &item, "start", "--summary", "go"]);
    let said = desk.ok(&["events"]);
    assert!(said.contains("boss moved W-1 \"One\"  queue → work (start): go"), "{said}");
    let events = desk.json(&["events", &item, "--limit", "1"]);
    assert_eq!(
        (&events["events"][0]["verb"], &events["events"][0]["by"]["actor"]["kind"]),
        (&json!("moved"), &json!("orchestrator"))
    );
    assert_eq!(desk.json(&["events", "--since", "1h"])["events"].as_array().map(Vec::len), Some(3));
    assert_eq!(desk.json(&["events", "--since", "2999-01-01T00:00:00Z"])["events"], json!([]));

    let mut follower = desk
        .command(&["--json", "events", "--follow", "--limit", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a follower");
    let mut lines = BufReader::new(follower.stdout.take().expect("its output")).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().expect("a line").expect("a line")).expect("JSON");
    assert_eq!(next()["verb"], json!("moved"));
    desk.add(&["Two"]);
    assert_eq!(next()["verb"], json!("created"));
    desk.ok(&["note", "set", "W-2", "k", "v"]);
    assert_eq!(next()["verb"], json!("noted"));
    follower.kill().expect("it ends");
    follower.wait().expect("it ends");
}

#[test]
fn projects_are_made_shown_and_kept_apart() {
    let desk = Desk::new();
    desk.add(&["In the first"]);
    desk.ok(&["project", "set", "second", "--prefix", "S", "--preset", "standard"]);
    let both = desk.json(&["project", "list"]);
    assert_eq!(both.as_array().map(Vec::len), Some(2));
    let required = desk.error(2, &["item", "add", "Where?"]);
    assert_eq!(required["code"], json!("PROJECT_REQUIRED"));
    desk.ok(&["--project", "second", "item", "add", "In the second"]);
    assert_eq!(desk.field("S-1", "title"), json!("In the second"), "a key says its project");
    assert_eq!(desk.field("W-1", "title"), json!("In the first"));
    desk.fails(2, &["--project", "third", "item", "list"]);
    assert!(desk.ok(&["--project", "second", "project", "show"]).contains("in_review"));
    assert!(desk.fails(5, &["project", "set", "second", "--prefix", "X"]).contains("people have written them down"));
    assert!(
        desk.fails(5, &["project", "set", "second", "--preset", "task-orchestrator"]).contains("keeps its statuses")
    );
    desk.ok(&["project", "set", "second", "--name", "Renamed"]);
    desk.write("docket.toml", "[project]\nslug = 'second'\n");
    assert_eq!(desk.json(&["project", "show"])["name"], json!("Renamed"), "docket.toml says which");
}

#[test]
fn a_status_is_as_good_as_a_trigger() {
    let desk = Desk::standard();
    let item = desk.add(&["One", "--status", "braindump"]);
    assert!(desk.ok(&["next"]).contains("nothing is ready"));
    desk.ok(&["advance", &item, "ready"]);
    desk.ok(&["advance", &item, "in_progress"]);
    let refused = desk.fails(2, &["advance", &item, "somewhere"]);
    assert!(refused.contains("nor a status (braindump, backlog"), "{refused}");
    let refused = desk.fails(5, &["advance", &item, "waiting_for_input"]);
    assert!(refused.contains("ask the question"), "only a question moves it there: {refused}");
    desk.ok(&["advance", &item, "blocked"]);
    assert!(desk.fails(5, &["advance", &item, "complete"]).contains("resume"));
    desk.ok(&["advance", &item, "RESUME"]);
    assert_eq!(desk.field(&item, "status"), json!("in_progress"));
}

#[test]
fn a_request_with_a_name_takes_effect_once() {
    let desk = Desk::new();
    let first = desk.json(&["item", "add", "Once", "--request-id", "r-1"]);
    let again = desk.json(&["item", "add", "Once", "--request-id", "r-1"]);
    assert_eq!(first, again, "the same answer");
    assert_eq!(desk.json(&["item", "list"])["total"], json!(1), "one effect");
    assert_eq!(desk.error(5, &["item", "add", "Other", "--request-id", "r-1"])["reason"], json!("request_id_reused"));
    desk.ok(&["--actor", "agent:b", "item", "add", "Other", "--request-id", "r-1"]);
    // The name is that of one verb.
    let item = desk.add(&["Two"]);
    desk.ok(&["item", "edit", &item, "--title", "Changed", "--request-id", "r-1"]);
    let edit = ["item", "edit", &item, "--title", "Otherwise", "--request-id", "r-1"];
    assert_eq!(desk.error(5, &edit)["reason"], json!("request_id_reused"));
    assert_eq!(desk.field(&item, "title"), json!("Changed"));
    for bad in [String::new(), "x".repeat(256)] {
        assert_eq!(desk.error(2, &["item", "add", "Other", "--request-id", &bad])["reason"], json!("bad_request_id"));
    }
}

#[test]
fn completions_are_made_for_every_shell() {
    let desk = Desk::bare();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(desk.ok(&["completions", shell]).contains("docket"), "{shell}");
    }
    desk.fails(2, &["completions", "cmd"]);
}

#[test]
fn a_status_that_there_is_not_is_a_slip_and_no_empty_list() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    let refused = desk.fails(2, &["item", "list", "--status", "in_progres"]);
    assert!(refused.contains("no status \"in_progres\"") && refused.contains("in_progress,"), "{refused}");
    assert_eq!(desk.json(&["item", "list", "--status", "in_progress"])["total"], json!(0));
}
