//! How a command ends, and that all of it does.

use std::time::{Duration, Instant};

use docket_runner::{Cancel, Ended, Order, Refusal};

use crate::support::{Place, alive, both, eventually, mark};

#[test]
fn the_exit_code_or_signal_is_told() {
    for place in both() {
        assert_eq!(place.run("true").ended, Ended::Exited(0));
        assert_eq!(place.run("exit 7").ended, Ended::Exited(7));
        assert_eq!(place.run("kill -9 $$").ended, Ended::Signalled(9));
        assert_eq!(place.run("kill -TERM $$").ended, Ended::Signalled(15));
        assert_eq!(place.run("no-such-program-at-all").ended, Ended::Exited(127));
    }
}

#[test]
fn what_cannot_be_run_is_refused() {
    let place = Place::new();
    let refused = |order: &Order| place.try_run(order).expect_err("it is refused");
    assert_eq!(refused(&place.order("")), Refusal::CommandEmpty);
    assert_eq!(refused(&place.order("touch x\ntouch y")), Refusal::CommandNotALine);
    assert_eq!(refused(&place.order("true\0")), Refusal::CommandNotALine);
    assert_eq!(refused(&place.order(&"x".repeat(100 * 1024))), Refusal::CommandTooLong);
    for timeout in [Duration::ZERO, Duration::from_secs(1_000_000_000)] {
        assert_eq!(refused(&Order { timeout, ..place.order("true") }), Refusal::BadTimeout);
    }
}

#[test]
fn a_program_that_is_no_supervisor_is_told() {
    let mut place = Place::new();
    place.settings.program = "/no/such/program".into();
    assert!(matches!(place.run("true").ended, Ended::NotRun(why) if why.contains("cannot be started")));
    place.settings.program = "/bin/true".into();
    assert!(matches!(place.run("true").ended, Ended::NotRun(why) if why.contains("without a word")));
}

#[test]
fn a_time_limit_ends_everything() {
    for place in both() {
        let mark = mark();
        let command = format!(
            "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' {mark} & ) ; \
             sh -c 'while :; do sleep 1; done' {mark} & while :; do sleep 1; done"
        );
        let order = Order { timeout: Duration::from_secs(1), ..place.order(&command) };
        let report = place.try_run(&order).expect("it runs");
        assert_eq!(report.ended, Ended::TimedOut);
        assert!(report.took >= Duration::from_secs(1));
        assert_eq!(alive(&mark), 0, "{}", report.sandbox);
    }
}

#[test]
fn a_success_after_the_time_limit_is_none() {
    for place in both() {
        let command = "trap 'exit 0' TERM; while :; do sleep 0.05; done";
        let order = Order { timeout: Duration::from_secs(1), ..place.order(command) };
        let report = place.try_run(&order).expect("it runs");
        assert_eq!(report.ended, Ended::TimedOut);
        assert!(!report.passed());
    }
}

#[test]
fn what_is_left_in_the_background_ends_with_the_shell() {
    for place in both() {
        let mark = mark();
        let command = format!("(setsid sh -c 'while :; do sleep 1; done' {mark} >/dev/null 2>&1 &); echo started");
        assert_eq!(place.said(&command), "started\n");
        assert_eq!(alive(&mark), 0);
    }
}

#[test]
fn a_background_process_that_holds_the_output_delays_nothing() {
    for place in both() {
        let begun = Instant::now();
        assert_eq!(place.said("setsid sleep 600 & echo started"), "started\n");
        assert!(begun.elapsed() < Duration::from_mins(5));
    }
}

#[test]
fn a_wish_to_cancel_is_followed() {
    for place in both() {
        let mark = mark();
        let cancel = Cancel::new().expect("a descriptor");
        let order = place.order(&format!("sh -c 'trap \"\" TERM; while :; do sleep 1; done' {mark}"));
        let runner = place.runner();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| runner.run_blocking(&order, None, &cancel).expect("it runs"));
            eventually("a process", || alive(&mark) > 0);
            cancel.cancel();
            assert_eq!(running.join().expect("it ends").ended, Ended::Cancelled);
        });
        assert_eq!(alive(&mark), 0);
        // A wish made before stands.
        let report = runner.run_blocking(&place.order("touch ran"), None, &cancel).expect("it runs");
        assert_eq!(report.ended, Ended::Cancelled);
        assert!(!place.root().join("ran").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_nobody_waits_for_is_cancelled() {
    let place = Place::new();
    let mark = mark();
    let order = place.order(&format!("sh -c 'while :; do sleep 1; done' {mark}"));
    let runner = place.runner();
    let cancel = Cancel::new().expect("a descriptor");
    let running = tokio::spawn(async move { runner.run(order, None, cancel).await });
    eventually("a process", || alive(&mark) > 0);
    running.abort();
    eventually("the end", || alive(&mark) == 0);
}

#[tokio::test]
async fn a_run_is_awaited() {
    let place = Place::new();
    let cancel = Cancel::new().expect("a descriptor");
    let report = place.runner().run(place.order("echo text"), None, cancel).await.expect("it runs");
    assert_eq!((report.ended, report.log.text().as_str()), (Ended::Exited(0), "text\n"));
}

#[test]
fn a_fork_storm_ends() {
    for place in both() {
        let mark = mark();
        // Each generation leaves its parent; none lives long.
        let command =
            format!("storm() {{ sh -c 'sleep 0.01; sleep 300' {mark} & }}; while :; do storm; sleep 0.02; done");
        let order = Order { timeout: Duration::from_secs(1), ..place.order(&command) };
        assert_eq!(place.try_run(&order).expect("it runs").ended, Ended::TimedOut);
        assert_eq!(alive(&mark), 0);
    }
}
