//! How git names contents and trees.

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// By which digest a repository names what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// SHA-1, as most do.
    Short,
    /// SHA-256.
    Long,
}

impl Form {
    /// How long a name is.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Short => 20,
            Self::Long => 32,
        }
    }

    /// The name of nothing.
    pub(super) fn nothing(self) -> Vec<u8> {
        vec![0; self.bytes()]
    }

    /// Begins to name something of so many bytes.
    pub(super) fn begin(self, kind: &str, bytes: u64) -> Naming {
        let mut naming = match self {
            Self::Short => Naming::Short(Sha1::new()),
            Self::Long => Naming::Long(Sha256::new()),
        };
        naming.push(format!("{kind} {bytes}\0").as_bytes());
        naming
    }

    /// The name of what is known whole.
    pub(super) fn name(self, kind: &str, bytes: &[u8]) -> Vec<u8> {
        let mut naming = self.begin(kind, bytes.len() as u64);
        naming.push(bytes);
        naming.end()
    }
}

/// A name that is being made.
pub(super) enum Naming {
    Short(Sha1),
    Long(Sha256),
}

impl Naming {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Short(digest) => digest.update(bytes),
            Self::Long(digest) => digest.update(bytes),
        }
    }

    pub(super) fn end(self) -> Vec<u8> {
        match self {
            Self::Short(digest) => digest.finalize().to_vec(),
            Self::Long(digest) => digest.finalize().to_vec(),
        }
    }
}

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    File,
    Program,
    Link,
    Repository,
}

impl Mode {
    const fn digits(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Program => "100755",
            Self::Link => "120000",
            Self::Repository => "160000",
        }
    }
}

/// An entry: its path from the root, and what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) mode: Mode,
    pub(super) id: Vec<u8>,
}

/// A folder that is being written down.
struct Open {
    /// How much of a path leads here, its last stroke included.
    upto: usize,
    body: Vec<u8>,
}

/// The name of the tree of these entries, which are in the order of their paths: that is the order in which git has them, too.
pub(super) fn tree(entries: &[Entry], form: Form) -> Vec<u8> {
    let mut open = vec![Open { upto: 0, body: Vec::new() }];
    let mut last: &[u8] = &[];
    for entry in entries {
        close(&mut open, last, form, |folder| entry.name.starts_with(folder));
        let from = open.last().map_or(0, |folder| folder.upto);
        let strokes = entry.name.iter().enumerate().skip(from).filter(|(_, byte)| **byte == b'/');
        open.extend(strokes.map(|(at, _)| Open { upto: at + 1, body: Vec::new() }));
        if let Some(folder) = open.last_mut() {
            line(&mut folder.body, entry.mode.digits(), &entry.name[folder.upto..], &entry.id);
        }
        last = &entry.name;
    }
    close(&mut open, last, form, |_| false);
    form.name("tree", &open.pop().unwrap_or_else(|| unreachable!("the root is not closed")).body)
}

/// Closes folders, the innermost first, up to one that goes on; the root always does. `last` is a path through all of them.
fn close(open: &mut Vec<Open>, last: &[u8], form: Form, goes_on: impl Fn(&[u8]) -> bool) {
    while open.len() > 1
        && let Some(folder) = open.pop_if(|folder| !goes_on(&last[..folder.upto]))
    {
        let Some(above) = open.last_mut() else { return };
        let name = &last[above.upto..folder.upto - 1];
        line(&mut above.body, "40000", name, &form.name("tree", &folder.body));
    }
}

fn line(body: &mut Vec<u8>, mode: &str, name: &[u8], id: &[u8]) {
    body.extend_from_slice(mode.as_bytes());
    body.push(b' ');
    body.extend_from_slice(name);
    body.push(0);
    body.extend_from_slice(id);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        super::super::hex(bytes)
    }

    #[test]
    fn names_are_those_of_git() {
        assert_eq!(hex(&Form::Short.name("blob", b"")), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(hex(&tree(&[], Form::Short)), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        assert_eq!(hex(&tree(&[], Form::Long)), "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321");
    }
}
