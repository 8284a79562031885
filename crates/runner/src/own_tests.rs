//! What stands somewhere is told and put back.

use super::*;

fn places(owned: &Owned) -> Vec<PathBuf> {
    owned.restore().into_iter().map(|put_back| put_back.place).collect()
}

#[test]
fn what_is_there_is_kept_and_what_is_not_is_put_back() {
    let made = tempfile::tempdir().expect("a folder");
    let root = made.path().canonicalize().expect("a path");
    for folder in ["data", "elsewhere"] {
        std::fs::create_dir(root.join(folder)).expect("a folder");
    }
    std::fs::write(root.join("elsewhere/docket.toml"), "ours").expect("a file");
    symlink("elsewhere", root.join("first")).expect("a link");
    symlink("first/docket.toml", root.join("docket.toml")).expect("a link");
    let keep = [root.join("docket.toml"), root.join("data"), root.join("data/work.db"), root.join("gone")];
    let unmade = [root.join("data/work.db-journal"), root.join("docket.toml"), root.join("no/such/folder")];
    let owned = Owned::now(&keep, &unmade, &[], std::slice::from_ref(&root));
    assert_eq!(owned.there, [root.join("data"), root.join("elsewhere/docket.toml")]);
    let link = |name: &str, to: &str| (root.join(name), Stands::Link(to.into()));
    assert_eq!(
        owned.stands,
        [
            (root.join("data/work.db-journal"), Stands::Nothing(root.join("data/work.db-journal"))),
            link("docket.toml", "first/docket.toml"),
            link("first", "elsewhere"),
            (root.join("no/such/folder"), Stands::Nothing(root.join("no"))),
        ]
    );
    assert!(owned.restore().is_empty(), "nothing was done");
    std::fs::remove_file(root.join("docket.toml")).expect("removed");
    std::fs::write(root.join("docket.toml"), "theirs").expect("a file");
    std::fs::remove_file(root.join("first")).expect("removed");
    for round in ["", "-1"] {
        std::fs::write(root.join("data/work.db-journal"), round).expect("a file");
        assert!(places(&owned).contains(&root.join("data/work.db-journal")));
        let aside = root.join(format!("data/work.db-journal.set-aside{round}"));
        assert_eq!(std::fs::read_to_string(aside).expect("it is kept"), round);
    }
    assert!(owned.restore().is_empty());
    assert_eq!(std::fs::read_to_string(root.join("docket.toml")).expect("a file"), "ours");
    assert_eq!(std::fs::read_to_string(root.join("docket.toml.set-aside")).expect("a file"), "theirs");
}

#[test]
fn links_in_a_circle_are_told_once() {
    let made = tempfile::tempdir().expect("a folder");
    symlink("b", made.path().join("a")).expect("a link");
    symlink("a", made.path().join("b")).expect("a link");
    let owned = Owned::now(&[made.path().join("a")], &[], &[], &[]);
    assert_eq!((owned.there.len(), owned.stands.len()), (0, 2));
}

/// What was not there, in a folder of a folder that was not there either.
fn unmade(root: &Path) -> (Owned, PathBuf) {
    let place = root.join("rules/config.yaml");
    (Owned::now(&[], std::slice::from_ref(&place), &[], &[]), place)
}

#[test]
fn a_link_on_the_way_is_set_aside_wherever_it_leads() {
    let made = tempfile::tempdir().expect("a folder");
    let root = made.path().canonicalize().expect("a path");
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("config.yaml"), "theirs").expect("a file");
    let (owned, place) = unmade(&root);
    symlink(outside.path(), root.join("rules")).expect("a link");
    let moved_to = Some(root.join("rules.set-aside"));
    assert_eq!(owned.restore(), [PutBack { place: place.clone(), moved_to, is_link: false, is_done: true }]);
    assert!(!place.exists() && !root.join("rules").is_symlink());
    assert!(outside.path().join("config.yaml").exists(), "what is elsewhere is not touched");
    // A folder with something else in it, and a file, are no rules.
    std::fs::create_dir(root.join("rules")).expect("a folder");
    std::fs::write(root.join("rules/other"), "").expect("a file");
    assert_eq!(owned.restore(), []);
    std::fs::remove_dir_all(root.join("rules")).expect("removed");
    std::fs::write(root.join("rules"), "").expect("a file");
    assert_eq!(owned.restore(), []);
}

#[test]
fn what_cannot_be_moved_away_is_said_to_stand_there() {
    let made = tempfile::tempdir().expect("a folder");
    let root = made.path().canonicalize().expect("a path");
    std::fs::create_dir(root.join("sub")).expect("a folder");
    let place = root.join("sub").join("x".repeat(250));
    let owned = Owned::now(&[], std::slice::from_ref(&place), &[], &[]);
    // A name that is too long to have anything added to it.
    std::fs::write(&place, "theirs").expect("a file");
    let stands = PutBack { place: place.clone(), moved_to: None, is_link: false, is_done: false };
    assert_eq!((owned.restore(), place.exists()), (vec![stands], true));
}

#[test]
fn only_what_is_not_there_is_absent() {
    for (kind, absent) in [
        (ErrorKind::NotFound, true),
        (ErrorKind::NotADirectory, true),
        (ErrorKind::PermissionDenied, false),
        (ErrorKind::Other, false),
    ] {
        assert_eq!(is_absence(&Error::from(kind)), absent, "{kind}");
    }
}

#[test]
fn a_pointer_of_gits_is_kept_where_it_is_one_and_not_made_where_it_is_none() {
    let made = tempfile::tempdir().expect("a folder");
    let root = made.path().canonicalize().expect("a path");
    for folder in ["tree", "main/.git", "none"] {
        std::fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    std::fs::write(root.join("tree/.git"), "gitdir: elsewhere").expect("a file");
    let pointers = ["tree", "main", "none"].map(|folder| root.join(folder).join(".git"));
    let owned = Owned::now(&[], &[], &pointers, &[root.join("tree")]);
    assert_eq!(owned.there, [root.join("tree/.git")]);
    assert_eq!(owned.restore(), []);
    // To begin a repository is no harm to anybody's configuration.
    std::fs::create_dir(root.join("none/.git")).expect("a folder");
    assert_eq!(owned.restore(), []);
    for folder in ["main", "none"] {
        let pointer = root.join(folder).join(".git");
        std::fs::rename(&pointer, root.join(folder).join("moved")).expect("moved");
        std::fs::write(&pointer, "gitdir: forged").expect("a file");
        assert_eq!(places(&owned), std::slice::from_ref(&pointer));
        assert!(!pointer.exists());
    }
}
