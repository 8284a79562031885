//! What is the operator's, as it is before a command begins: what is there is kept from being written, and what is not there, or
//! is a link, is put back as it was when the command has ended.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use serde::{Deserialize, Serialize};

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
    /// Nothing.
    Nothing,
    /// A link that leads there.
    Link(PathBuf),
}

impl Owned {
    /// What is to be kept, as it is now, and what is not to be made. A folder that the command has to write in is not kept from it.
    pub(crate) fn now(keep: &[PathBuf], unmade: &[PathBuf], needed: &[PathBuf]) -> Self {
        let is_needed = |path: &PathBuf| needed.iter().any(|needed| needed.starts_with(path));
        let whole = |path: &PathBuf| path.canonicalize().ok();
        let found: BTreeSet<PathBuf> = keep.iter().filter_map(whole).filter(|path| !is_needed(path)).collect();
        let is_in_another = |path: &PathBuf| path.ancestors().skip(1).any(|folder| found.contains(folder));
        let mut stands = BTreeSet::new();
        for path in keep.iter().chain(unmade) {
            links(path, LINKS, &mut stands);
        }
        for path in unmade {
            if let Err(error) = path.symlink_metadata()
                && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
            {
                stands.insert((placed(path), Stands::Nothing));
            }
        }
        Self {
            there: found.iter().filter(|path| !is_in_another(path)).cloned().collect(),
            stands: stands.into_iter().collect(),
        }
    }

    /// Puts back what stood somewhere. What stands there now is set aside, because nobody knows for certain who made it. Says where
    /// something was put back.
    pub(crate) fn restore(&self) -> Vec<PathBuf> {
        self.stands.iter().filter(|(place, stands)| put_back(place, stands)).map(|(place, _)| place.clone()).collect()
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

/// Whether something was put back.
fn put_back(place: &Path, stands: &Stands) -> bool {
    let is_as_it_was = match stands {
        Stands::Nothing => place.symlink_metadata().is_err(),
        Stands::Link(to) => place.read_link().is_ok_and(|leads| leads == *to),
    };
    if is_as_it_was {
        return false;
    }
    set_aside(place);
    if let Stands::Link(to) = stands {
        // Where its folder is gone, there is nothing to put it in; that something is amiss is said all the same.
        let _ = symlink(to, place);
    }
    true
}

fn set_aside(place: &Path) {
    for number in 0..=MOST_ASIDE {
        let mut name = place.as_os_str().to_owned();
        name.push(ASIDE);
        if number > 0 {
            name.push(format!("-{number}"));
        }
        let flags = if number == MOST_ASIDE { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match rustix::fs::renameat_with(CWD, place, CWD, PathBuf::from(name), flags) {
            Err(rustix::io::Errno::EXIST) => {}
            Ok(()) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let owned = Owned::now(&keep, &unmade, std::slice::from_ref(&root));
        assert_eq!(owned.there, [root.join("data"), root.join("elsewhere/docket.toml")]);
        let link = |name: &str, to: &str| (root.join(name), Stands::Link(to.into()));
        assert_eq!(
            owned.stands,
            [
                (root.join("data/work.db-journal"), Stands::Nothing),
                link("docket.toml", "first/docket.toml"),
                link("first", "elsewhere"),
                (root.join("no/such/folder"), Stands::Nothing),
            ]
        );
        assert!(owned.restore().is_empty(), "nothing was done");
        std::fs::remove_file(root.join("docket.toml")).expect("removed");
        std::fs::write(root.join("docket.toml"), "theirs").expect("a file");
        std::fs::remove_file(root.join("first")).expect("removed");
        for round in ["", "-1"] {
            std::fs::write(root.join("data/work.db-journal"), round).expect("a file");
            assert!(owned.restore().contains(&root.join("data/work.db-journal")));
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
        let owned = Owned::now(&[made.path().join("a")], &[], &[]);
        assert_eq!((owned.there.len(), owned.stands.len()), (0, 2));
    }
}
