//! Checks in requests: what each verifies, and how it is made. One of which nothing else is said is a person's to make.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Value, json};

use super::from_value;
use crate::command::NewCheck;
use crate::error::{Error, Invalid, Reason, echo};
use crate::limits;
use crate::model::{CheckKind, CriterionId, Folder, Name, Repository, Text};

/// Reads the field `checks` of a request; faults are named by their path in it.
pub fn checks(value: &Value) -> Result<Vec<NewCheck>, Error> {
    #[derive(serde::Deserialize)]
    struct Body {
        checks: Vec<NewCheck>,
    }
    from_value::<Body>(json!({ "checks": value })).map(|body| body.checks)
}

/// How a check is made, in the word of whoever asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Command,
    Manual,
    PullRequest,
}

impl Way {
    fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Manual => "manual",
            Self::PullRequest => "pull_request",
        }
    }
}

impl<'de> Deserialize<'de> for Way {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(match word.as_str() {
            "command" => Self::Command,
            "manual" => Self::Manual,
            "pull_request" | "github_pr" => Self::PullRequest,
            other => {
                let message = format!("must be command, manual or pull_request, not \"{}\"", echo(other));
                return Err(D::Error::custom(format_args!("{:#}", Invalid::new(Reason::UnknownValue, message))));
            }
        })
    }
}

/// A check as it is written: whether its fields go together is seen when all are read.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Body {
    desc: Text,
    #[serde(rename = "type")]
    way: Option<Way>,
    cmd: Option<Text>,
    cwd: Option<Folder>,
    timeout: Option<i64>,
    timeout_seconds: Option<i64>,
    repository: Option<Repository>,
    number: Option<u64>,
    branch: Option<Name>,
    proves: Option<CriterionId>,
}

impl<'de> Deserialize<'de> for NewCheck {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let body = Body::deserialize(deserializer)?;
        let (desc, proves) = (body.desc.clone(), body.proves);
        let kind = body.kind().map_err(|invalid| D::Error::custom(format_args!("{invalid:#}")))?;
        Ok(Self { desc, kind, proves })
    }
}

impl Body {
    fn kind(self) -> Result<CheckKind, Invalid> {
        let way = self.way.unwrap_or(if self.cmd.is_some() { Way::Command } else { Way::Manual });
        if let Some((field, wants)) = self.misplaced(way) {
            let message =
                format!("goes with the type {}, and this check is of the type {}", wants.as_str(), way.as_str());
            return Err(Invalid::new(Reason::BadValue, message).at(field));
        }
        let missing = |field: &str| Invalid::new(Reason::MissingField, "is required").at(field);
        Ok(match way {
            Way::Manual => CheckKind::Manual,
            Way::Command => CheckKind::Command {
                timeout_seconds: seconds(self.timeout, self.timeout_seconds)?,
                cmd: self.cmd.ok_or_else(|| missing("cmd"))?,
                cwd: self.cwd,
            },
            Way::PullRequest => CheckKind::PullRequest {
                repository: self.repository.ok_or_else(|| missing("repository"))?,
                number: self.number,
                branch: self.branch,
            },
        })
    }

    /// A field that does not go with how the check is made, and what it goes with.
    fn misplaced(&self, way: Way) -> Option<(&'static str, Way)> {
        let fields = [
            (self.cmd.is_some(), "cmd", Way::Command),
            (self.cwd.is_some(), "cwd", Way::Command),
            (self.timeout.is_some(), "timeout", Way::Command),
            (self.timeout_seconds.is_some(), "timeoutSeconds", Way::Command),
            (self.repository.is_some(), "repository", Way::PullRequest),
            (self.number.is_some(), "number", Way::PullRequest),
            (self.branch.is_some(), "branch", Way::PullRequest),
        ];
        fields.into_iter().find(|(said, _, wants)| *said && *wants != way).map(|(_, field, wants)| (field, wants))
    }
}

/// How long it may take, by either of its two names. Which times there are is said once, in the limits.
fn seconds(timeout: Option<i64>, timeout_seconds: Option<i64>) -> Result<Option<u32>, Invalid> {
    let (seconds, field) = match (timeout, timeout_seconds) {
        (Some(_), Some(_)) => {
            let message = "says the same as timeout: leave one of them out";
            return Err(Invalid::new(Reason::Duplicate, message).at("timeoutSeconds"));
        }
        (Some(seconds), None) => (seconds, "timeout"),
        (None, Some(seconds)) => (seconds, "timeoutSeconds"),
        (None, None) => return Ok(None),
    };
    let range = limits::CHECK_SECONDS_ALLOWED;
    u32::try_from(seconds).ok().filter(|seconds| range.contains(seconds)).map(Some).ok_or_else(|| {
        let message = format!("must be from {} to {} seconds", range.start(), range.end());
        Invalid::new(Reason::BadValue, message).at(field)
    })
}

#[cfg(feature = "openapi")]
mod schema {
    use std::borrow::Cow;

    use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, SchemaType, Type};
    use utoipa::openapi::{Ref, RefOr};
    use utoipa::{PartialSchema, ToSchema};

    use super::{CriterionId, Name, NewCheck, Text};
    use crate::limits;

    fn described(kind: Type, about: &str) -> Object {
        ObjectBuilder::new().schema_type(SchemaType::Type(kind)).description(Some(about)).build()
    }

    fn named(name: &str, about: &str) -> Ref {
        let mut named = Ref::from_schema_name(name);
        about.clone_into(&mut named.description);
        named
    }

    impl PartialSchema for NewCheck {
        fn schema() -> RefOr<Schema> {
            let range = limits::CHECK_SECONDS_ALLOWED;
            let seconds = ObjectBuilder::new()
                .schema_type(SchemaType::Type(Type::Integer))
                .minimum(Some(*range.start()))
                .maximum(Some(*range.end()))
                .description(Some(
                    "How many seconds it may take; 120 where it is not said. `timeoutSeconds` is the same.",
                ))
                .build();
            let way = ObjectBuilder::new()
                .schema_type(SchemaType::Type(Type::String))
                .enum_values(Some(["command", "manual", "pull_request", "github_pr"]))
                .description(Some(
                    "How it is made. Where it is not said, one with a `cmd` is a command and any other is a person's to \
                     make. `github_pr` is another word for `pull_request`.",
                ))
                .build();
            let about = "What must be shown before the item counts as done. One that says the same as one that is there \
                         keeps its approval and its result.";
            ObjectBuilder::new()
                .description(Some(about))
                .property("desc", named("Text", "What it verifies, for a reader."))
                .property("type", way)
                .property("cmd", described(Type::String, "The command line that must end well, in one line."))
                .property(
                    "cwd",
                    described(Type::String, "Where it runs: a folder of the repository, never outside it."),
                )
                .property("timeout", seconds)
                .property("repository", described(Type::String, "Of a pull request: `owner/name`."))
                .property("number", described(Type::Integer, "Which pull request."))
                .property(
                    "branch",
                    named("Name", "Of a pull request: the newest of this branch, where its number is not known."),
                )
                .property(
                    "proves",
                    named("CriterionId", "The acceptance criterion that it proves: where it holds, that is shown."),
                )
                .required("desc")
                .build()
                .into()
        }
    }

    impl ToSchema for NewCheck {
        fn name() -> Cow<'static, str> {
            Cow::Borrowed("NewCheck")
        }

        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            schemas.push((Text::name().into_owned(), Text::schema()));
            schemas.push((Name::name().into_owned(), Name::schema()));
            schemas.push((CriterionId::name().into_owned(), CriterionId::schema()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_decides_how_it_is_made() {
        let read = checks(&json!([
            { "desc": "ann looked" },
            { "desc": "tests", "cmd": "cargo test", "cwd": "crates/core", "timeout": 30, "proves": "c1" },
            { "desc": "tests", "cmd": "cargo test", "timeoutSeconds": 3600 },
            { "desc": "merged", "type": "github_pr", "repository": "acme/web", "number": 7 },
            { "desc": "merged", "type": "pull_request", "repository": "acme/web", "branch": "parser" },
        ]))
        .expect("checks");
        assert_eq!(read[0].kind, CheckKind::Manual);
        assert_eq!(read[1].proves, Some(CriterionId(1)));
        assert!(matches!(&read[1].kind, CheckKind::Command { cwd: Some(_), timeout_seconds: Some(30), .. }));
        assert!(matches!(&read[2].kind, CheckKind::Command { cwd: None, timeout_seconds: Some(3600), .. }));
        assert!(matches!(&read[3].kind, CheckKind::PullRequest { number: Some(7), branch: None, .. }));
        assert!(matches!(&read[4].kind, CheckKind::PullRequest { number: None, branch: Some(_), .. }));
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_whole_path() {
        for (line, field, reason) in [
            (json!({ "cmd": "true" }), "desc", Reason::MissingField),
            (json!({ "desc": "x", "comand": "true" }), "comand", Reason::UnknownField),
            (json!({ "desc": "x", "type": "command" }), "cmd", Reason::MissingField),
            (json!({ "desc": "x", "type": "shell", "cmd": "true" }), "type", Reason::UnknownValue),
            (json!({ "desc": "x", "type": "manual", "cmd": "true" }), "cmd", Reason::BadValue),
            (json!({ "desc": "x", "cwd": "." }), "cwd", Reason::BadValue),
            (json!({ "desc": "x", "timeout": 5 }), "timeout", Reason::BadValue),
            (json!({ "desc": "x", "repository": "a/b" }), "repository", Reason::BadValue),
            (json!({ "desc": "x", "type": "pull_request", "number": 1 }), "repository", Reason::MissingField),
            (json!({ "desc": "x", "type": "pull_request", "repository": "a" }), "repository", Reason::BadValue),
            (json!({ "desc": "x", "cmd": "true", "cwd": "../x" }), "cwd", Reason::OutsideWorktree),
            (json!({ "desc": "x", "cmd": "true", "cwd": "/etc" }), "cwd", Reason::OutsideWorktree),
            (json!({ "desc": "x", "cmd": "a\u{0}b" }), "cmd", Reason::BadChar),
            (json!({ "desc": "x", "cmd": 7 }), "cmd", Reason::BadValue),
            (json!({ "desc": "x", "cmd": "true", "timeout": 0 }), "timeout", Reason::BadValue),
            (json!({ "desc": "x", "cmd": "true", "timeout": -1 }), "timeout", Reason::BadValue),
            (
                json!({ "desc": "x", "cmd": "true", "timeoutSeconds": 1_000_000_000 }),
                "timeoutSeconds",
                Reason::BadValue,
            ),
            (json!({ "desc": "x", "cmd": "true", "timeout": 1e18 }), "timeout", Reason::BadValue),
            (
                json!({ "desc": "x", "cmd": "true", "timeout": 1, "timeoutSeconds": 1 }),
                "timeoutSeconds",
                Reason::Duplicate,
            ),
            (json!({ "desc": "x", "proves": "7" }), "proves", Reason::BadId),
        ] {
            let refused = checks(&json!([{ "desc": "fine" }, line.clone()])).expect_err(field);
            let path = format!("checks[1].{field}");
            assert_eq!((refused.field.as_deref(), refused.reason), (Some(path.as_str()), reason), "{line}: {refused}");
            assert!(refused.message.starts_with(&path), "{}", refused.message);
            assert_eq!(refused.message.matches(&path).count(), 1, "{}", refused.message);
        }
        let refused = checks(&json!([7])).expect_err("a number");
        assert_eq!((refused.field.as_deref(), refused.reason), (Some("checks[0]"), Reason::BadValue));
        let refused = checks(&json!({})).expect_err("an object");
        assert_eq!((refused.field.as_deref(), refused.reason), (Some("checks"), Reason::BadValue));
    }
}
