//! Where the next page of a list begins, as callers hand it back: opaque, of a version, and good for its own list alone.
//!
//! A cursor names a place in an order, never a count of rows, so nothing that is put in or taken out between two pages
//! shifts what follows. It gives no right: whoever makes one up gets at most another page of what it may see anyway. The
//! digest in it is against mistakes, such as a cursor of another filter.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::digest;
use crate::error::{Error, Reason};

/// What cursors mean. Grows when places are written in another form; those of another version are refused.
const VERSION: u8 = 1;
/// How many bytes of the digest are kept.
const MARK_BYTES: usize = 8;

/// The cursor of a place in a list.
pub(super) fn seal<L: Serialize, P: Serialize>(list: &L, place: &P) -> String {
    // A place is plain data: it always serialises.
    let place = serde_json::to_vec(place).unwrap_or_default();
    let mut bytes = vec![VERSION];
    bytes.extend(mark(list, &place));
    bytes.extend(place);
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The place that a cursor of this list names.
pub(super) fn open<L: Serialize, P: DeserializeOwned>(list: &L, cursor: &str) -> Result<P, Error> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| unknown())?;
    let (&version, rest) = bytes.split_first().ok_or_else(unknown)?;
    let (sealed, place) = rest.split_at_checked(MARK_BYTES).ok_or_else(unknown)?;
    if version != VERSION {
        return Err(unknown());
    }
    let known = serde_json::from_slice(place).map_err(|_| unknown())?;
    if sealed != mark(list, place).as_slice() {
        let message = "cursor belongs to a list with another filter or order: go on with the same, or begin again";
        return Err(Error::validation(Reason::BadCursor, message).at("cursor"));
    }
    Ok(known)
}

/// What to say of a text that no page ended with.
pub(super) fn unknown() -> Error {
    let message = "cursor is none that a page ended with: hand it back as it was given, or begin again without one";
    Error::validation(Reason::BadCursor, message).at("cursor")
}

fn mark<L: Serialize>(list: &L, place: &[u8]) -> Vec<u8> {
    digest(&(list, place)).into_iter().take(MARK_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_opens_for_its_own_list_alone() {
        let cursor = seal(&"a", &(7, "x"));
        assert_eq!(open::<_, (u32, String)>(&"a", &cursor).expect("a place"), (7, "x".to_owned()));
        let refused = open::<_, (u32, String)>(&"b", &cursor).expect_err("another list");
        assert_eq!((refused.reason, refused.field.as_deref()), (Reason::BadCursor, Some("cursor")));
        assert!(refused.message.contains("another filter"), "{refused:?}");
    }

    #[test]
    fn what_was_changed_or_made_up_is_refused() {
        let cursor = seal(&"a", &7);
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&cursor).expect("base64");
        for index in 0..bytes.len() {
            let mut forged = bytes.clone();
            forged[index] ^= 1;
            let forged = BASE64_URL_SAFE_NO_PAD.encode(forged);
            assert!(open::<_, u32>(&"a", &forged).is_err(), "byte {index}");
        }
        for made_up in ["", "p3", "AQ", "!", "AAAAAAAAAAAAAA", &cursor[1..], &format!("{cursor}A"), &"A".repeat(5000)] {
            let refused = open::<_, u32>(&"a", made_up).expect_err(made_up);
            assert_eq!(refused.reason, Reason::BadCursor, "{made_up}");
        }
    }
}
