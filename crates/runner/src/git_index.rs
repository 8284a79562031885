//! Git's index, as far as its marks go: files that somebody told git not to look at are looked at all the same.
//!
//! Only bytes are changed here, and only those of a copy. An index that cannot be followed to its end is left alone.

/// An entry that git is told to take as unchanged, in the first byte of its flags.
const ASSUMED: u8 = 0x80;
/// Further flags follow, in the same byte.
const EXTENDED: u8 = 0x40;
/// An entry that git is told not to look for in the work tree, in the first byte of the further flags.
const SKIPPED: u8 = 0x40;
/// The mode of a folder that stands for all that it holds.
const FOLDER: [u8; 4] = 0o040_000_u32.to_be_bytes();

/// The bytes before the first entry.
const HEAD: usize = 12;
/// Where the mode of an entry stands.
const MODE: usize = 24;
/// Where the name of its content stands.
const CONTENT: usize = 40;

/// What became of the marks of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// There are none now.
    Gone,
    /// Folders stand for what they hold, with a mark that they need: they have to be unfolded first.
    Folded,
}

/// Which version of the format this is.
pub(crate) fn version(index: &[u8]) -> Option<u32> {
    number(index, 4)
}

/// Takes the marks away, in an index whose names of contents have so many bytes. Says nothing of one that it cannot follow.
pub(crate) fn unmark(index: &mut [u8], content: usize) -> Option<Marks> {
    let is_packed = match version(index)? {
        2 | 3 => false,
        4 => true,
        _ => return None,
    };
    let mut at = HEAD;
    let mut marks = Marks::Gone;
    for _ in 0..number(index, 8)? {
        let is_folder = index.get(at + MODE..at + MODE + FOLDER.len())? == FOLDER;
        let flags = at + CONTENT + content;
        let mut name = flags + 2;
        let first = index.get_mut(flags)?;
        *first &= !ASSUMED;
        if *first & EXTENDED != 0 {
            let second = index.get_mut(name)?;
            if !is_folder {
                *second &= !SKIPPED;
            }
            name += 2;
        }
        if is_folder {
            marks = Marks::Folded;
        }
        at = if is_packed { behind_packed(index, name)? } else { behind_padded(index, at, name)? };
    }
    Some(marks)
}

/// Where the next entry begins when names are whole: each entry is filled up to a multiple of eight, with a zero at least.
fn behind_padded(index: &[u8], entry: usize, name: usize) -> Option<usize> {
    let end = zero(index, name)?;
    Some(entry + ((end - entry) / 8 + 1) * 8)
}

/// The same when names are told by how they differ from the one before: a number, then the rest of the name and a zero.
fn behind_packed(index: &[u8], name: usize) -> Option<usize> {
    let digits = index.get(name..)?.iter().position(|byte| byte & 0x80 == 0)?;
    Some(zero(index, name + digits + 1)? + 1)
}

fn zero(index: &[u8], from: usize) -> Option<usize> {
    index.get(from..)?.iter().position(|byte| *byte == 0).map(|length| from + length)
}

fn number(index: &[u8], at: usize) -> Option<u32> {
    index.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_followed_is_left_alone() {
        let mut short = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        assert_eq!(unmark(&mut short, 20), None, "an entry is missing");
        let mut empty = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
        assert_eq!(unmark(&mut empty, 20), Some(Marks::Gone));
        let mut strange = b"DIRC\0\0\0\x09\0\0\0\0".to_vec();
        assert_eq!(unmark(&mut strange, 20), None, "a version that is not known");
        assert_eq!(unmark(&mut [], 20), None);
    }
}
