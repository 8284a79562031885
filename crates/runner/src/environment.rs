//! What a command finds in its environment: a list of what is let through, and nothing else of the server's.

use crate::limits::SECRET_LEAST;

/// Variables that are let through where the server has them. A star stands for any ending.
const KEPT: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "XDG_CACHE_HOME",
];

/// What `PATH` is where the server has none.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Pieces of names by which a variable is known to hold a secret.
const SECRET_NAMES: [&str; 13] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "APIKEY",
    "PRIVATE_KEY",
    "ACCESS_KEY",
    "CREDENTIAL",
    "AUTHORIZATION",
    "DATABASE_URL",
    "_DSN",
];

/// Endings of names of the same kind.
const SECRET_ENDINGS: [&str; 4] = ["_KEY", "_PAT", "_PWD", "_AUTH"];

/// What is let through besides, as the operator says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Names of further variables that are let through; a star at the end stands for any ending.
    pub keep: Vec<String>,
    /// Variables that are set, whatever the server has.
    pub set: Vec<(String, String)>,
}

impl Environment {
    /// What a command is given, from what the server has. Marks come last and are not overridden.
    pub(crate) fn scrubbed(
        &self,
        server: impl Iterator<Item = (String, String)>,
        temp: &str,
        marks: &[(String, String)],
    ) -> Vec<(String, String)> {
        let mut given: Vec<(String, String)> = Vec::new();
        let mut put = |name: &str, value: &str| {
            given.retain(|(known, _)| known != name);
            // Whatever cannot stand in an environment is left out.
            if !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0') {
                given.push((name.to_owned(), value.to_owned()));
            }
        };
        put("PATH", PATH_DEFAULT);
        for (name, value) in server.filter(|(name, _)| self.keeps(name)) {
            put(&name, &value);
        }
        for (name, value) in [("CI", "1"), ("TERM", "dumb"), ("NO_COLOR", "1"), ("TMPDIR", temp), ("DOCKET_CHECK", "1")]
        {
            put(name, value);
        }
        for (name, value) in self.set.iter().chain(marks) {
            put(name, value);
        }
        given
    }

    fn keeps(&self, name: &str) -> bool {
        KEPT.iter().copied().chain(self.keep.iter().map(String::as_str)).any(|kept| match kept.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == kept,
        })
    }
}

/// The values of variables whose names say that they are secret.
pub(crate) fn secrets(variables: impl Iterator<Item = (String, String)>) -> Vec<String> {
    variables.filter(|(name, value)| is_secret(name) && value.len() >= SECRET_LEAST).map(|(_, value)| value).collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES.iter().any(|piece| name.contains(piece)) || SECRET_ENDINGS.iter().any(|end| name.ends_with(end))
}

/// What the process has, as far as it is text.
pub(crate) fn of_process() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_what_is_listed_goes_through() {
        let server = pairs(&[
            ("PATH", "/bin"),
            ("LC_TIME", "C"),
            ("GITHUB_TOKEN", "hidden"),
            ("DATABASE_URL", "postgres://u:p@h/d"),
            ("LD_PRELOAD", "/evil.so"),
            ("MAKEFLAGS", "-j"),
            ("TERM", "xterm"),
            ("TMPDIR", "/elsewhere"),
            ("PIP_CACHE_DIR", "/cache"),
        ]);
        let more = Environment { keep: vec!["PIP_*".to_owned()], set: pairs(&[("MODE", "strict"), ("a=b", "c")]) };
        let marks = pairs(&[("DOCKET_ITEM", "D-1")]);
        let mut given = more.scrubbed(server.into_iter(), "/private", &marks);
        given.sort();
        let expected = pairs(&[
            ("CI", "1"),
            ("DOCKET_CHECK", "1"),
            ("DOCKET_ITEM", "D-1"),
            ("LC_TIME", "C"),
            ("MODE", "strict"),
            ("NO_COLOR", "1"),
            ("PATH", "/bin"),
            ("PIP_CACHE_DIR", "/cache"),
            ("TERM", "dumb"),
            ("TMPDIR", "/private"),
        ]);
        assert_eq!(given, expected);
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        let found = secrets(
            pairs(&[
                ("GH_TOKEN", "value-one"),
                ("npm_config_password", "value-two"),
                ("OPENAI_API_KEY", "value-three"),
                ("SIGNING_KEY", "value-four"),
                ("SHORT_TOKEN", "abc"),
                ("KEYBOARD", "value-five"),
                ("PATH", "/usr/bin"),
            ])
            .into_iter(),
        );
        assert_eq!(found, ["value-one", "value-two", "value-three", "value-four"]);
    }
}
