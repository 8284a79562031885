//! What a work tree is called: nobody is told where on a machine it lies.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::model::Name;

/// How many bytes of the digest are shown: enough that no two work trees of a fleet are taken for each other.
const SHOWN: usize = 8;

/// The name of a work tree on a machine: the name of its folder, for a reader, and a digest of where it is.
pub fn place_name(host: &str, root: &Path) -> Name {
    let mut digest = Sha256::new();
    digest.update(host.as_bytes());
    digest.update([0]);
    digest.update(root.as_os_str().as_encoded_bytes());
    let mut mark = String::with_capacity(SHOWN * 2);
    for byte in digest.finalize().iter().take(SHOWN) {
        // Writing into a text cannot fail.
        _ = write!(mark, "{byte:02x}");
    }
    let folder = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Name::parse(&format!("{folder}@{mark}"))
        .or_else(|_| Name::parse(&mark))
        .unwrap_or_else(|_| unreachable!("hex digits are a name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_name_of_its_own_that_does_not_tell_where_it_is() {
        let name = |host: &str, root: &str| place_name(host, Path::new(root)).to_string();
        let all = [name("one", "/trees/ann/web"), name("two", "/trees/ann/web"), name("one", "/srv/web")];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(all[0], name("one", "/trees/ann/web"));
        assert!(all[0].starts_with("web@") && !all[0].contains("ann"), "{}", all[0]);
        assert_eq!(name("one", &format!("/{}", "x".repeat(400))).len(), 16, "a long name is left out");
        assert!(name("one", "/").starts_with('@'));
    }
}
