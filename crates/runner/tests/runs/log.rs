//! What is kept and told of what a command says.

use docket_runner::limits::{LOG_DEFAULT, LOG_LEAST};
use docket_runner::{Cancel, Live};

use crate::support::Place;

#[test]
fn both_outputs_come_in_the_order_they_were_written() {
    assert_eq!(Place::new().said("echo one; echo two >&2; echo three; echo four >&2"), "one\ntwo\nthree\nfour\n");
}

#[test]
fn much_output_is_cut_in_the_middle() {
    let place = Place::new();
    let report = place.run("echo first; head -c 20000000 /dev/zero | tr '\\0' 'x'; echo; echo last");
    assert!(report.passed());
    assert_eq!(report.log.bytes, 6 + 20_000_000 + 1 + 5);
    assert!(report.log.head.starts_with("first\n") && report.log.tail.ends_with("x\nlast\n"));
    let kept = report.log.head.len() + report.log.tail.len();
    assert!(kept <= LOG_DEFAULT);
    assert_eq!(report.log.left_out + kept as u64, report.log.bytes);
}

#[test]
fn the_limit_is_the_operators() {
    let mut place = Place::new();
    place.settings.log_bytes = 1;
    let report = place.run("head -c 5000 /dev/zero | tr '\\0' 'x'");
    assert_eq!(report.log.head.len() + report.log.tail.len(), LOG_LEAST);
}

#[test]
fn binary_output_becomes_text() {
    let place = Place::new();
    let report = place.run("head -c 200000 /dev/urandom; printf '\\033[31m\\000end\\n'");
    let text = report.log.text();
    assert!(text.ends_with("end\n"));
    assert!(text.chars().all(|char| !char.is_control() || matches!(char, '\n' | '\t')));
}

#[test]
fn secrets_are_blotted_out() {
    let mut place = Place::new();
    place.settings.secrets = vec!["configured-value".to_owned()];
    place.settings.environment.set = vec![("DEPLOY_TOKEN".to_owned(), "given-to-the-command".to_owned())];
    let report = place.run(
        "echo a configured-value b; echo $DEPLOY_TOKEN; printf configured-; sleep 0.1; echo value; \
         printf 'ghp_'; sleep 0.1; echo 0123456789abcdefghij0123456789abcdef",
    );
    assert_eq!(report.log.text(), "a [redacted] b\n[redacted]\n[redacted]\n[redacted]\n");
    assert_eq!(report.log.redacted, 4);
}

#[test]
fn who_looks_on_is_told_while_it_runs() {
    let place = Place::new();
    let (live, mut looking) = Live::new(64);
    let order = place.order("echo ready; while [ ! -e go ]; do sleep 0.01; done; echo done");
    let runner = place.runner();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| runner.run_blocking(&order, Some(live), &Cancel::new().expect("a descriptor")));
        // It goes on only when this has arrived, so it arrived while it ran.
        assert_eq!(looking.blocking_recv().expect("a piece").text, "ready\n");
        std::fs::write(place.root().join("go"), "").expect("a file");
        assert_eq!(looking.blocking_recv().expect("a piece").text, "done\n");
        assert!(running.join().expect("it ends").expect("it runs").passed());
    });
    assert_eq!(looking.blocking_recv(), None);
}

#[test]
fn nobody_taking_the_output_holds_nothing_up() {
    let place = Place::new();
    let (live, looking) = Live::new(1);
    let order = place.order("seq 1 100000");
    let report = place.runner().run_blocking(&order, Some(live), &Cancel::new().expect("a descriptor"));
    assert!(report.expect("it runs").passed());
    drop(looking);
}
