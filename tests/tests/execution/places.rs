//! Several agents at once: in work trees of their own, and after the same task.

use std::time::Duration;

use docket_tests::mcp::Gone;
use docket_tests::repository::{Repository, commit, write};
use serde_json::{Value, json};

use crate::World;
use crate::verification::{begun, status, until};

const RACERS: usize = 8;

fn desk() -> Repository {
    let repository = Repository::new("\"all\"");
    let rules = "[project]\nslug = \"proof\"\npreset = \"execution\"\n[runner]\nallow = \"all\"\n";
    repository.write("docket.toml", rules);
    repository.commit("other rules");
    repository
}

fn newest(repository: &Repository, task: &str) -> Value {
    repository.docket_json(&["check", "runs", task])["runs"][0].clone()
}

#[test]
fn what_was_handed_in_from_one_work_tree_is_not_shown_on_another() {
    let repository = desk();
    let (first, second) = (repository.worktree("w1"), repository.worktree("w2"));
    write(&second, "state", "fixed\n");
    commit(&second, "fixed");
    let check: &[&[&str]] = &[&["It is fixed", "--cmd", "sh check.sh"]];
    // Ann hands in what is broken, and goes away before anybody has made its check.
    let ann = repository.server(&first, "execution", "agent:ann", None);
    let hers = begun(&repository, &ann, "hers", check);
    drop(ann);
    let submitted = repository.docket(&first, &["--actor", "agent:ann", "submit", &hers]);
    assert!(submitted.status.success(), "{}", String::from_utf8_lossy(&submitted.stderr));
    let place = newest(&repository, &hers)["place"].clone();
    assert!(place.as_str().is_some_and(|place| place.starts_with("w1@")), "{place}");
    // Bob works where it is fixed: his own check is made there, and hers is not, by whichever way in.
    let bob = repository.server(&second, "execution", "agent:bob", None);
    let his = begun(&repository, &bob, "his", check);
    bob.ok("complete_task", json!({ "taskId": his }));
    until(&repository, &his, "done");
    for folder in [second.as_path(), repository.path()] {
        let ran = repository.docket(folder, &["runner", "--once"]);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(
        (status(&repository, &hers).as_str(), &newest(&repository, &hers)["state"]),
        ("needs_review", &json!("queued"))
    );
    // Whoever comes to her work tree makes it, and it is as broken as it was.
    let _cid = repository.server(&first, "execution", "agent:cid", None);
    until(&repository, &hers, "in_progress");
    assert_eq!(newest(&repository, &hers)["state"], "failed");
}

#[test]
fn of_many_who_claim_one_task_at_once_one_gets_it() {
    let world = World::new();
    let agents: Vec<_> = (0..RACERS).map(|number| world.agent(&format!("agent:a{number}"))).collect();
    for round in 0..5 {
        let task = world.task(&format!("round {round}"), &[]);
        let barrier = std::sync::Barrier::new(RACERS);
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let racing: Vec<_> = agents
                .iter()
                .map(|agent| {
                    let (barrier, task) = (&barrier, &task);
                    scope.spawn(move || {
                        barrier.wait();
                        let answer = agent.call("claim_task", json!({ "taskId": task }));
                        answer.unwrap_or_else(|Gone| panic!("the server is gone")).content
                    })
                })
                .collect();
            racing.into_iter().map(|racer| racer.join().expect("an answer")).collect()
        });
        let won = answers.iter().filter(|answer| answer["task"]["state"] == "claimed").count();
        let lost = answers.iter().filter(|answer| answer["error"]["code"] == "task.already_claimed").count();
        assert_eq!((won, lost), (1, RACERS - 1), "{answers:?}");
    }
}
