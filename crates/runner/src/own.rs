//! What is the operator's, as it is before a command begins: what is there is kept from being written, and what is not there, or
//! is a link, is put back as it was when the command has ended.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use serde::{Deserialize, Serialize};

use crate::report::PutBack;

/// How many links one after the other are followed, as many as the system does.
const LINKS: usize = 40;
/// What is added to the name of what a command put where it must not.
const ASIDE: &str = ".set-aside";
/// How many of a name are set aside; what comes after takes the place of the last.
const MOST_ASIDE: usize = 100;

/// What is the operator's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owned {
    /// What is there: whole paths, none in another.
    pub(crate) there: Vec<PathBuf>,
    /// What no mount can keep as it is.
    pub(crate) stands: Vec<(PathBuf, Stands)>,
}

/// What stands somewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Stands {
    /// Nothing; this is the topmost of its folders that is missing, or itself.
    Nothing(PathBuf),
    /// A link that leads there.
    Link(PathBuf),
    /// Nobody can look.
    Unseen,
    /// A folder or nothing, and no file that names a folder elsewhere.
    NoPointer,
}

/// What stands somewhere now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    Folder,
    Other,
    /// It may be anything.
    Unseen,
}

impl Owned {
    /// What is to be kept, as it is now, what is not to be made, and git's pointers, which are kept where they are files and not to be
    /// made where they are none. A folder that the command has to write in is not kept from it.
    pub(crate) fn now(keep: &[PathBuf], unmade: &[PathBuf], pointers: &[PathBuf], needed: &[PathBuf]) -> Self {
        let is_needed = |path: &PathBuf| needed.iter().any(|needed| needed.starts_with(path));
        let whole = |path: &PathBuf| path.canonicalize().ok();
        let (files, others): (Vec<&PathBuf>, Vec<&PathBuf>) = pointers.iter().partition(|path| path.is_file());
        let found: BTreeSet<PathBuf> =
            keep.iter().chain(files).filter_map(whole).filter(|path| !is_needed(path)).collect();
        let is_in_another = |path: &PathBuf| path.ancestors().skip(1).any(|folder| found.contains(folder));
        let mut stands = BTreeSet::new();
        for path in keep.iter().chain(unmade).chain(pointers) {
            links(path, LINKS, &mut stands);
        }
        for path in unmade {
            match seen(path) {
                Seen::Nothing => {
                    let place = placed(path);
                    let missing = topmost_missing(&place);
                    stands.insert((place, Stands::Nothing(missing)));
                }
                Seen::Unseen => _ = stands.insert((placed(path), Stands::Unseen)),
                Seen::Folder | Seen::Other => {}
            }
        }
        for path in others {
            if !path.is_symlink() {
                stands.insert((placed(path), Stands::NoPointer));
            }
        }
        Self {
            there: found.iter().filter(|path| !is_in_another(path)).cloned().collect(),
            stands: stands.into_iter().collect(),
        }
    }

    /// Puts back what stood somewhere. What stands there now is set aside, because nobody knows for certain who made it. Says where
    /// something else stood.
    pub(crate) fn restore(&self) -> Vec<PutBack> {
        self.stands.iter().filter_map(|(place, stands)| put_back(place, stands)).collect()
    }
}

/// The links on the way to a path, itself among them.
fn links(path: &Path, most: usize, found: &mut BTreeSet<(PathBuf, Stands)>) {
    let Some(most) = most.checked_sub(1) else { return };
    for part in path.ancestors() {
        let Ok(to) = part.read_link() else { continue };
        let place = placed(part);
        let leads = place.parent().map(|folder| folder.join(&to));
        if found.insert((place, Stands::Link(to)))
            && let Some(leads) = leads
        {
            links(&leads, most, found);
        }
    }
}

/// A path by the whole name of the folder that it lies in, as far as that is there.
fn placed(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    folder.canonicalize().unwrap_or_else(|_| placed(folder)).join(name)
}

/// Of a path that is not there, what would have to be made first.
fn topmost_missing(place: &Path) -> PathBuf {
    let missing = place.ancestors().take_while(|part| seen(part) == Seen::Nothing);
    missing.last().unwrap_or(place).to_owned()
}

/// What stands at a place, no link followed that it is itself.
fn seen(place: &Path) -> Seen {
    match place.symlink_metadata() {
        Ok(there) if there.is_dir() => Seen::Folder,
        Ok(_) => Seen::Other,
        Err(error) if is_absence(&error) => Seen::Nothing,
        Err(_) => Seen::Unseen,
    }
}

/// Whether an error says that something is not there. Any other leaves that open: a folder that may not be entered hides what is in it.
fn is_absence(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Puts back what stood at a place, where something else does now.
fn put_back(place: &Path, stands: &Stands) -> Option<PutBack> {
    match stands {
        Stands::Nothing(missing) => made(place, missing),
        Stands::Unseen => (!matches!(seen(place), Seen::Unseen | Seen::Nothing)).then(|| away(place, place)),
        Stands::NoPointer => (!matches!(seen(place), Seen::Folder | Seen::Nothing)).then(|| away(place, place)),
        Stands::Link(to) => {
            if place.read_link().is_ok_and(|leads| leads == *to) {
                return None;
            }
            let moved_to = if seen(place) == Seen::Nothing { None } else { set_aside(place) };
            // Where its folder is gone, there is nothing to put it in.
            let is_done = symlink(to, place).is_ok();
            Some(PutBack { place: place.to_owned(), moved_to, is_link: true, is_done })
        }
    }
}

/// What was made where nothing was. Folders of plain files on the way are nobody's harm; a link and what cannot be looked into are
/// taken for what they may lead to.
fn made(place: &Path, missing: &Path) -> Option<PutBack> {
    let mut parts: Vec<&Path> = place.ancestors().take_while(|part| part.starts_with(missing)).collect();
    parts.reverse();
    for part in parts {
        match seen(part) {
            Seen::Nothing => return None,
            Seen::Folder if part != place && std::fs::read_dir(part).is_ok() => {}
            // A file in the way of what would have to be a folder.
            Seen::Other if part != place && !part.is_symlink() => return None,
            Seen::Folder | Seen::Other | Seen::Unseen => {
                let moved = away(place, part);
                // Its folder may forbid it, where that was made as well.
                return Some(if moved.is_done || part == missing { moved } else { away(place, missing) });
            }
        }
    }
    None
}

/// Sets aside what must not stand at a place, or what is on the way there.
fn away(place: &Path, what: &Path) -> PutBack {
    let moved_to = set_aside(what);
    let is_done = moved_to.is_some();
    PutBack { place: place.to_owned(), moved_to, is_link: false, is_done }
}

/// Where it is now; nothing, where it could not be moved.
fn set_aside(place: &Path) -> Option<PathBuf> {
    for number in 0..=MOST_ASIDE {
        let mut name = place.as_os_str().to_owned();
        name.push(ASIDE);
        if number > 0 {
            name.push(format!("-{number}"));
        }
        let name = PathBuf::from(name);
        let flags = if number == MOST_ASIDE { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match rustix::fs::renameat_with(CWD, place, CWD, &name, flags) {
            Err(rustix::io::Errno::EXIST) => {}
            Ok(()) => return Some(name),
            Err(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
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
}
