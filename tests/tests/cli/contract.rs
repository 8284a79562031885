//! The work contract by the command line: briefs, evidence, questions, comments, links, beginning and ending work.

use serde_json::json;

use crate::desk::{Desk, is_harmless};

#[test]
fn a_brief_is_written_merged_shown_and_cleared() {
    let desk = Desk::standard();
    let item = desk.add(&["Parser", "--objective", "Read queries", "--criterion", "it compiles"]);
    assert_eq!(desk.json(&["verdict", &item])["counts"]["open"], json!(1));
    let said = desk.ok(&[
        "brief",
        "set",
        &item,
        "--objective",
        "Read all",
        "--criterion",
        "it compiles",
        "--sign-off",
        "ann likes it",
        "--constraint",
        "no unsafe",
        "--verification",
        "cargo test",
        "--handoff",
        "a link",
    ]);
    for part in [
        "wrote the brief of W-1",
        "Read all",
        "open  c1 it compiles",
        "c2 ann likes it",
        "for a person to sign off",
        "no unsafe",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    desk.ok(&["brief", "merge", &item, "--context", "in src", "--clear", "handoff,constraints"]);
    let brief = desk.json(&["brief", "show", &item])["brief"].clone();
    assert_eq!((&brief["objective"], &brief["context"]), (&json!("Read all"), &json!("in src")));
    assert!(brief.get("constraints").is_none() && brief.get("handoffExpectations").is_none(), "{brief}");
    desk.write(
        "brief.json",
        r#"{"objective": "From a file", "acceptanceCriteria": [{"text": "soft", "hard": false}]}"#,
    );
    let set = desk.json(&["brief", "set", &item, "--file", "brief.json"]);
    assert_eq!((&set["key"], &set["brief"]["acceptanceCriteria"][0]["id"]), (&json!("W-1"), &json!("c3")));
    let fed = desk.run_fed(br#"{"objective": null}"#, &["--json", "brief", "merge", &item, "--file", "-"]).good();
    assert!(!fed.contains("From a file"), "{fed}");
    desk.ok(&["brief", "clear", &item]);
    assert!(desk.ok(&["brief", "show", &item]).contains("no brief"));
}

#[test]
fn what_is_wrong_with_a_brief_is_said() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.write("bad.json", r#"{"goal": "x"}"#);
    desk.write("not.json", "objective: x");
    desk.write("twice.json", r#"{"objective": "a", "objective": "b"}"#);
    for (words, part) in [
        (vec!["brief", "set", &item], "no section was given"),
        (vec!["brief", "set", &item, "--file", "bad.json"], "goal"),
        (vec!["brief", "set", &item, "--file", "not.json"], "not JSON"),
        (vec!["brief", "set", &item, "--file", "twice.json"], "twice"),
        (vec!["brief", "set", &item, "--file", "bad.json", "--objective", "x"], "one of the two ways"),
        (vec!["brief", "merge", &item, "--clear", "everything"], "--clear must be"),
        (vec!["brief", "set", "W-9", "--objective", "x"], "W-9"),
    ] {
        let said = desk.fails(2, &words);
        assert!(said.contains(part), "{words:?}: {said}");
    }
    assert!(desk.fails(3, &["brief", "set", &item, "--file", "none.json"]).contains("cannot be read"));
    assert!(desk.fails(5, &["brief", "set", &item, "--objective", "x", "--if-version", "9"]).contains("version 1"));
}

#[test]
fn work_goes_from_start_to_finish() {
    let desk = Desk::standard();
    desk.add(&["Parser", "--intent", "less work", "--criterion", "a", "--sign-off", "b"]);
    let packet = desk.json(&["--actor", "subagent:bot", "start"]);
    assert_eq!((&packet["item"]["key"], &packet["started"]["toStatus"]), (&json!("W-1"), &json!("in_progress")));
    assert_eq!(packet["verdict"]["criteria"][0]["id"], json!("c1"));
    let fence = packet["held"]["fence"].to_string();
    assert!(desk.fails(5, &["--actor", "subagent:eve", "start", "W-1"]).contains("claimed"));
    let bot = |words: &[&str]| desk.run(&[&["--actor", "subagent:bot"], words].concat());
    let preview = bot(&["finish", "W-1", "--preview"]).good();
    assert!(
        preview.contains("nothing was done") && preview.contains("would not move") && preview.contains("c1"),
        "{preview}"
    );
    assert!(bot(&["finish", "W-1"]).bad(5).contains("criteria:"));
    assert!(bot(&["verify", "W-1", "c2=pass"]).bad(5).contains("for a person to sign off"));
    assert!(bot(&["verify", "W-1", "c2=pass", "--as", "human"]).bad(4).contains("only a person"));
    let seen = bot(&[
        "finish",
        "W-1",
        "c1=pass",
        "--note",
        "seen",
        "--comment",
        "all read",
        "--link",
        "pr:7:https://example.com/7",
        "--fence",
        &fence,
    ])
    .good();
    assert!(seen.contains("in_review") && seen.contains("pass  c1 a"), "{seen}");
    let inbox = desk.ok(&["inbox"]);
    for part in ["W-1 Parser", "to sign off: c2 b", "docket verify W-1 c2=pass --as human", "is in review"] {
        assert!(inbox.contains(part), "{part} is not in {inbox}");
    }
    assert!(desk.fails(5, &["advance", "W-1", "complete"]).contains("criteria:"));
    desk.ok(&["verify", "W-1", "c2=pass", "--as", "human"]);
    desk.ok(&["close", "W-1"]);
    assert!(desk.ok(&["inbox"]).contains("nothing waits"));
    let shown = desk.ok(&["item", "show", "W-1"]);
    for part in ["Intent", "less work", "Brief", "2 passed, 0 failed, 0 open", "Links", "https://example.com/7"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    assert!(desk.ok(&["comment", "W-1"]).contains("all read"));
    assert!(desk.ok(&["estimate"]).contains("of 1 item"));
    assert!(desk.ok(&["start"]).contains("nothing is ready"));
}

#[test]
fn how_a_criterion_stands_is_spelled_one_way() {
    let desk = Desk::standard();
    desk.add(&["One", "--criterion", "a"]);
    for word in ["c1", "c1=maybe", "x=pass", "=pass"] {
        assert_eq!(desk.error(2, &["verify", "W-1", word])["code"], json!("VALIDATION"), "{word}");
    }
    assert_eq!(desk.error(2, &["verify", "W-1", "c9=pass"])["code"], json!("NOT_FOUND"));
    assert_eq!(desk.error(2, &["verify", "W-1", "c1=pass", "c1=fail"])["reason"], json!("duplicate"));
    desk.fails(2, &["verify", "W-1"]);
    desk.fails(2, &["verify", "W-1", "c1=pass", "--as", "boss"]);
    assert_eq!(desk.error(4, &["verify", "W-1", "c1=pass", "--as", "check"])["code"], json!("FORBIDDEN"));
    assert!(desk.fails(2, &["finish", "W-1", "--link", "nonsense"]).contains("KIND:REF:URL"));
    assert!(desk.fails(2, &["finish", "W-1", "--to", "nowhere"]).contains("neither a trigger"));
}

#[test]
fn questions_go_to_a_person_and_back() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    let asked = desk.ok(&["ask", "W-1", "Which?", "--option", "a", "--option", "b"]);
    assert!(asked.contains("open Which?") && asked.contains("waiting_for_input"), "{asked}");
    assert!(desk.fails(5, &["ask", "W-1", "And?"]).contains("open question"));
    let inbox = desk.ok(&["inbox"]);
    assert!(inbox.contains("asks: Which? (a / b)") && inbox.contains("docket answer W-1"), "{inbox}");
    assert_eq!(desk.json(&["item", "list", "--inbox"])["total"], json!(1));
    assert!(desk.ok(&["item", "show", "W-1"]).contains("Question"));
    let answered = desk.json(&["answer", "W-1", "neither"]);
    assert_eq!((&answered["question"]["answer"], &answered["role"]), (&json!("neither"), &json!("queue")));
    assert!(desk.fails(2, &["answer", "W-1", "x"]).contains("no open question"));
    let question = answered["question"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.error(5, &["answer", &question, "x"])["reason"], json!("question_closed"));
    desk.ok(&["ask", "W-1", "And?"]);
    assert!(desk.ok(&["withdraw", "W-1"]).contains("taken back"));
    desk.ok(&["item", "edit", "W-1", "--attention", "odd"]);
    let inbox = desk.ok(&["inbox"]);
    assert!(inbox.contains("calls for attention: odd"), "{inbox}");
    desk.ok(&["item", "edit", "W-1", "--clear", "attention"]);
    assert_eq!(desk.json(&["inbox"]), json!({"items": [], "total": 0}));
}

#[test]
fn comments_and_links_are_added_shown_and_removed() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    desk.ok(&["comment", "W-1", "first"]);
    desk.run_fed(b"two\nlines", &["comment", "W-1", "-"]).good();
    let shown = desk.ok(&["comment", "W-1"]);
    assert!(shown.find("two").expect("the newest") < shown.find("first").expect("the oldest"), "{shown}");
    assert_eq!(desk.json(&["comment", "W-1", "--limit", "1"])["truncated"], json!(true));
    desk.fails(2, &["comment", "W-1", " "]);
    let made = desk.json(&["attach", "W-1", "pr", "7", "https://example.com/7", "--title", "Seven"]);
    let link = made["links"][0].as_str().expect("an id").to_owned();
    assert!(desk.ok(&["attach", "W-1"]).contains("https://example.com/7"));
    assert!(desk.fails(2, &["attach", "W-1", "pr", "7", "javascript:alert(1)"]).contains("http"));
    desk.fails(2, &["attach", "W-1", "pr"]);
    desk.ok(&["detach", &link]);
    assert!(desk.ok(&["attach", "W-1"]).contains("no links"));
    assert_eq!(desk.error(2, &["detach", &link])["code"], json!("NOT_FOUND"));
    desk.fails(2, &["detach", "nonsense"]);
}

#[test]
fn nothing_written_by_others_reaches_the_terminal_raw() {
    let desk = Desk::standard();
    let evil = "x\u{1b}[31m\u{202e}y\u{9b}2J";
    desk.add(&["One", "--objective", evil, "--criterion", evil, "--intent", evil]);
    desk.ok(&["verify", "W-1", "c1=fail", "--note", evil]);
    desk.ok(&["comment", "W-1", evil]);
    desk.ok(&["attach", "W-1", "a", "b", "https://example.com/", "--title", "plain"]);
    desk.ok(&["ask", "W-1", evil, "--option", evil]);
    for words in [
        &["item", "show", "W-1"][..],
        &["brief", "show", "W-1"],
        &["verdict", "W-1"],
        &["comment", "W-1"],
        &["inbox"],
        &["answer", "W-1", evil],
        &["start", "W-1"],
    ] {
        let said = desk.ok(words);
        assert!(is_harmless(&said), "{words:?}: {said:?}");
    }
}

#[test]
fn a_tree_is_closed_by_force_and_markdown_makes_one() {
    let desk = Desk::standard();
    desk.write("plan.md", "# Release\n\n- [x] Lexer\n- [ ] Parser\n  - [ ] Errors\n");
    let preview = desk.ok(&["import-markdown", "plan.md", "--preview"]);
    assert!(preview.contains("would make 4 items") && preview.contains("Errors"), "{preview}");
    assert_eq!(desk.json(&["item", "list", "--all"])["total"], json!(0));
    assert!(desk.ok(&["import-markdown", "plan.md"]).contains("made 4 items"));
    assert!(
        desk.run_fed(b"- Five", &["import-markdown", "-", "--parent", "W-1", "--status", "backlog"])
            .good()
            .contains("W-5")
    );
    desk.write("words.md", "just words");
    let said = desk.fails(2, &["import-markdown", "words.md"]);
    assert!(said.contains("words.md:"), "{said}");
    assert!(desk.fails(2, &["import-markdown", "plan.md", "--status", "nope"]).contains("no status"));
    desk.fails(3, &["import-markdown", "none.md"]);
    let closed = desk.ok(&["close", "W-1", "--tree"]);
    assert!(closed.contains("closed W-1") && closed.contains("closed W-4"), "{closed}");
    assert!(desk.ok(&["close", "W-1", "--tree"]).contains("closed already"));
    let item = desk.add(&["Shown", "--criterion", "a"]);
    assert!(desk.fails(5, &["close", &item, "--tree"]).contains("criteria:"));
    desk.ok(&["close", &item, "--tree", "--cancel"]);
}

#[test]
fn a_project_is_put_away_and_brought_back() {
    let desk = Desk::standard();
    desk.ok(&["project", "set", "old", "--prefix", "OLD"]);
    desk.ok(&["--project", "old", "item", "add", "One"]);
    assert!(desk.ok(&["project", "archive", "old"]).contains("put away old"));
    assert!(desk.ok(&["project", "list"]).contains("archived"));
    desk.ok(&["item", "show", "OLD-1"]);
    assert_ne!(desk.run(&["item", "edit", "OLD-1", "--title", "x"]).code, 0);
    desk.ok(&["project", "restore", "old"]);
    desk.ok(&["item", "edit", "OLD-1", "--title", "x"]);
    assert!(desk.fails(2, &["project", "archive", "none"]).contains("no project"));
}

#[test]
fn init_tells_agents_of_it_once() {
    let desk = Desk::bare();
    let said = desk.ok(&["init", "--prefix", "W"]);
    assert!(said.contains("AGENTS.md") && said.contains("## Work: Docket"), "{said}");
    assert!(!desk.file("AGENTS.md").exists(), "nothing is written that was not asked for");
    desk.write("AGENTS.md", "# Rules of mine\n");
    assert!(desk.ok(&["init", "--agents"]).contains("tells agents"));
    let once = desk.read("AGENTS.md");
    assert!(once.starts_with("# Rules of mine\n\n## Work: Docket\n"), "{once}");
    assert!(desk.ok(&["init", "--agents"]).contains("stays as it is"));
    assert_eq!(desk.read("AGENTS.md"), once);
    assert_eq!(desk.json(&["init"])["agents"]["written"], json!(false));
}

#[test]
fn what_was_put_away_is_not_thought_of_when_no_project_is_named() {
    let desk = Desk::standard();
    desk.ok(&["project", "set", "old"]);
    desk.write("docket.toml", "");
    let old = desk.json(&["--project", "old", "item", "add", "Forgotten"])["key"].as_str().expect("a key").to_owned();
    desk.ok(&["--project", "old", "ask", &old, "Which one?"]);
    let other = desk.json(&["--project", "old", "item", "add", "Ready"])["key"].as_str().expect("a key").to_owned();
    assert_eq!(desk.error(2, &["item", "add", "Where?"])["reason"], "project_required");
    let titles = |words: &[&str]| desk.json(words).to_string();
    assert!(titles(&["inbox"]).contains(&old), "it waits for a person");
    desk.ok(&["project", "archive", "old"]);
    let made = desk.json(&["item", "add", "Here"]);
    assert!(made["key"].as_str().is_some_and(|key| key.starts_with("W-")), "the only living one is meant: {made}");
    let inbox = desk.json(&["inbox"]);
    assert_eq!((&inbox["items"], &inbox["total"]), (&json!([]), &json!(0)), "{inbox}");
    let queue = titles(&["next"]);
    assert!(queue.contains("Here") && !queue.contains(&other), "{queue}");
    assert!(titles(&["--project", "old", "inbox"]).contains(&old), "whoever names it sees it");
    desk.ok(&["project", "restore", "old"]);
    assert!(titles(&["inbox"]).contains(&old));
}

#[test]
fn a_tree_is_closed_by_its_gates_with_its_root() {
    let desk = Desk::standard();
    let root = desk.add(&["Root"]);
    let free = desk.add(&["Free", "--parent", &root]);
    let owing = desk.add(&["Owing", "--parent", &root, "--criterion", "it compiles"]);
    let ran = desk.run(&["--json", "close", &root, "--tree", "--gated"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    let status = |item: &str| desk.json(&["item", "show", item])["item"]["role"].clone();
    assert_eq!((status(&free), status(&owing), status(&root)), (json!("terminal"), json!("queue"), json!("queue")));
    let said = desk.run(&["close", &root, "--tree", "--gated"]);
    assert!(said.err.contains("it compiles"), "{said:?}");
    desk.ok(&["verify", &owing, "c1=pass"]);
    desk.ok(&["close", &root, "--tree", "--gated"]);
    assert_eq!((status(&owing), status(&root)), (json!("terminal"), json!("terminal")));
    assert!(desk.ok(&["close", &root, "--tree", "--gated"]).contains("closed already"));
    assert_eq!(desk.run(&["close", &root, "--gated"]).code, 2, "it goes with --tree");
}

/// Every act that the inbox names is one that the person who reads it can do, whoever holds the item.
#[test]
fn what_the_inbox_advises_works_while_an_agent_holds_it() {
    let desk = Desk::standard();
    for title in ["reviewed", "flagged", "asked"] {
        desk.add(&[title, "--sign-off", "ann likes it"]);
    }
    let bot = |words: &[&str]| desk.run(&[&["--actor", "subagent:bot"], words].concat()).good();
    bot(&["start", "W-1"]);
    bot(&["advance", "W-1", "in_review"]);
    bot(&["ask", "W-3", "which?"]);
    bot(&["start", "W-2"]);
    bot(&["item", "edit", "W-2", "--attention", "look"]);
    let inbox = desk.ok(&["inbox"]);
    let advised: Vec<&str> = inbox.lines().filter_map(|line| line.split("→ docket ").nth(1)).collect();
    assert_eq!(advised.len(), 4, "{inbox}");
    // A sign-off comes before the end of what it is asked for.
    for act in advised
        .iter()
        .filter(|act| act.starts_with("verify"))
        .chain(advised.iter().filter(|act| !act.starts_with("verify")))
    {
        desk.ok(&act.split_whitespace().collect::<Vec<_>>());
    }
    assert!(desk.ok(&["inbox"]).contains("nothing waits"));
}
