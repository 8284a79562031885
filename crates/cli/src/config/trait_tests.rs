//! Traits that items are given by one file and that one of the two describes.

use super::Configuration;
use super::tests::{around, error, write};

#[test]
fn a_trait_that_nothing_describes_is_refused_wherever_it_is_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = std::fs::canonicalize(folder.path()).expect("a path");
    let (ours, theirs) = (root.join("docket.toml"), root.join(".taskorchestrator/config.yaml"));
    let loaded = |toml: &str, yaml: &str| {
        write(&ours, toml);
        write(&theirs, yaml);
        Configuration::load(&around(&root), None)
    };
    let described = "traits:\n  needs-security-review: {notes: [{key: security, role: review, required: true}]}\n";
    for (toml, yaml, place) in [
        ("", "default_traits: [needs-securty-review]\n", "config.yaml:1:18: default_traits[0]"),
        (
            "",
            "work_item_schemas:\n  bug: {default_traits: [needs-securty-review]}\n",
            "config.yaml:2:26: work_item_schemas.bug.default_traits[0]",
        ),
        ("[project]\ndefault_traits = ['needs-securty-review']\n", "", "docket.toml:2:19: project.default_traits[0]"),
        (
            "[schemas.bug]\ndefault_traits = ['needs-securty-review']\n",
            "",
            "docket.toml:2:19: schemas.bug.default_traits[0]",
        ),
    ] {
        let told = error(loaded(toml, &format!("{yaml}{described}")));
        let wanted = format!(
            "{place}: there is no trait \"needs-securty-review\"; did you mean \"needs-security-review\"? (valid: needs-security-review)"
        );
        assert!(told.ends_with(&wanted), "{told} should end with {wanted}");
        let right = |text: &str| text.replace("securty", "security");
        loaded(&right(toml), &format!("{}{described}", right(yaml)))
            .expect("one file may name what the other describes");
    }
    assert!(error(loaded("", "default_traits: [x]\n")).ends_with("there is no trait \"x\"; there are none"));
}
