//! P2 on the command line: every command that takes `--fence`, as the program's own help tells.

use std::collections::BTreeSet;
use std::process::Command;

use docket_tests::program::docket;

use crate::fleet::Place;
use crate::stale_holders_over_http::Target;

/// The words of a command, and what follows them.
type Call<'t> = (&'static str, Vec<&'t str>);

/// Asks everything, for a holder whose claim is gone.
pub(crate) fn on_the_command_line(place: &Place, target: &Target, fence: u64) {
    let fence = fence.to_string();
    let calls = calls(target);
    let tried: BTreeSet<String> = calls.iter().map(|(verb, _)| (*verb).to_owned()).collect();
    assert_eq!(tried, taking_a_fence(), "what takes a fence is not what a late holder tries");
    for (verb, rest) in calls {
        let mut command = Command::new(docket());
        command.arg("--db").arg(place.word()).args(["--json", "--actor", "subagent:ann"]);
        command.args(verb.split(' ')).args(&rest).args(["--fence", &fence]).current_dir(place.folder());
        place.prepare(&mut command);
        let output = command.output().expect("the program");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{verb} {rest:?}: {said}");
        assert!(said.contains("claim_lost"), "{verb} {rest:?}: {said}");
    }
}

fn calls(target: &Target) -> Vec<Call<'_>> {
    let Target { item, other, link, .. } = target;
    vec![
        ("advance", vec![item, "start"]),
        ("advance", vec![item, "cancel", "--beneath"]),
        ("close", vec![item]),
        ("close", vec![item, "--tree"]),
        ("close", vec![item, "--tree", "--gated"]),
        ("close", vec![item, "--cancel"]),
        ("finish", vec![item, "c1=pass", "--comment", "late"]),
        ("submit", vec![item, "--output", "late"]),
        ("item edit", vec![item, "--title", "late"]),
        ("item rm", vec![item]),
        ("brief set", vec![item, "--objective", "late"]),
        ("brief merge", vec![item, "--objective", "late"]),
        ("verify", vec![item, "c1=pass"]),
        ("check set", vec![item, "--clear"]),
        ("check add", vec![item, "look at it"]),
        ("ask", vec![item, "late?"]),
        ("comment", vec![item, "late"]),
        ("attach", vec![item, "pr", "1", "https://example.com/1"]),
        ("detach", vec![link]),
        ("note set", vec![item, "late", "words"]),
        ("note rm", vec![item, "kept"]),
        ("note rm", vec![item, "--all"]),
        ("link", vec![item, "blocks", other]),
        ("unlink", vec![item, other]),
        ("unlink", vec![item, "--all"]),
    ]
}

/// Every command whose help names the option, by its words.
fn taking_a_fence() -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![Vec::<String>::new()]);
    while let Some(words) = left.pop() {
        let output = Command::new(docket()).args(&words).arg("--help").output().expect("the program");
        let help = String::from_utf8(output.stdout).expect("text");
        if help.contains("--fence") {
            found.insert(words.join(" "));
        }
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // What goes on in a second line is set further in.
        let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        left.extend(names.map(|name| [&words[..], &[name.to_owned()]].concat()));
    }
    found
}
