//! Puts to the person at the other end what only a person decides about checks: that a command may run, and how a check stands
//! that nobody but a person can make. What is committed is what was shown: if the item changed meanwhile, nothing is.

use std::fmt::Write as _;

use docket_core::command::{ApproveChecks, Attest, ChecksSet};
use docket_core::engine::Command as _;
use docket_core::model::{CheckKind, ItemRef, Text};
use docket_core::query::ShownCheck;
use docket_core::store::{Around, ProjectRef};
use docket_core::{Code, Error, Kind, Reason};
use rmcp::model::{ElicitationSchema, JsonObject, PrimitiveSchemaDefinition, StringSchema};
use serde_json::Value;

use crate::elicit::{choice, plain};
use crate::person::{Form, Topic};
use crate::session::Session;

/// The checks of an item as a form shows them.
struct Shown {
    title: String,
    checks: Vec<ShownCheck>,
    version: u64,
}

impl Session {
    /// Asks the person whether these checks may run exactly as they are; all that are not approved, where none is named.
    pub(crate) async fn elicit_approval(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        only: Vec<usize>,
    ) -> Result<ChecksSet, Error> {
        let shown = self.look_at_checks(project, item).await?;
        // Nobody is bothered for what would be refused all the same.
        self.engine().may(ApproveChecks::NAME, ApproveChecks::NEEDS)?;
        let wanted = |check: &&ShownCheck| {
            check.check.kind.is_runnable() && if only.is_empty() { !check.may_run } else { only.contains(&check.index) }
        };
        let mut message = format!("May these checks of {} be run?\n", shown.title);
        for check in shown.checks.iter().filter(wanted) {
            // Writing into a text cannot fail.
            _ = write!(message, "\n{}: {}", check.index, described(check));
        }
        let form = ElicitationSchema::builder().title("Your approval");
        let words = ["yes", "no"].map(ToOwned::to_owned).to_vec();
        let form = form.property("approve", choice("May they run?".to_owned(), words)).build();
        let version = self.version_shown(Topic::Approval, &shown);
        let filled = self.ask_person(Topic::Approval, version, message, form).await?;
        if filled.get("approve").and_then(Value::as_str) != Some("yes") {
            return Err(unsaid());
        }
        let (project, item, expected_version) = (project.clone(), item.clone(), version);
        let approve = ApproveChecks { project, item, only, expected_version };
        self.engine().run(self.call_of_person(), approve).await
    }

    /// Asks the person how a check stands that is a person's to make.
    pub(crate) async fn elicit_attestation(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        check: usize,
    ) -> Result<ChecksSet, Error> {
        let shown = self.look_at_checks(project, item).await?;
        self.engine().may(Attest::NAME, Attest::NEEDS)?;
        let asked = shown.checks.get(check).map(described).unwrap_or_default();
        let message = format!("{} has a check for you to make:\n\n{check}: {asked}", shown.title);
        let note = PrimitiveSchemaDefinition::String(StringSchema::new().title("What you saw"));
        let words = ["pass", "fail"].map(ToOwned::to_owned).to_vec();
        let form = ElicitationSchema::builder().title("Your word");
        let form = form.property("holds", choice("Does it hold?".to_owned(), words)).property("note", note).build();
        let version = self.version_shown(Topic::Attestation, &shown);
        let filled = self.ask_person(Topic::Attestation, version, message, form).await?;
        let passed = match filled.get("holds").and_then(Value::as_str) {
            Some("pass") => true,
            Some("fail") => false,
            Some(_) | None => return Err(unsaid()),
        };
        let note = filled.get("note").and_then(Value::as_str).filter(|note| !note.trim().is_empty());
        let note = note.map(Text::parse).transpose().map_err(|invalid| invalid.at("note"))?;
        let (project, item, expected_version) = (project.clone(), item.clone(), Some(version));
        let attest = Attest { project, item, check, passed, note, tree: None, expected_version };
        self.engine().run(self.call_of_person(), attest).await
    }

    /// The version of the item that the person is shown, or was shown in an earlier round of the call.
    fn version_shown(&self, topic: Topic, shown: &Shown) -> u64 {
        let marked = self.person().and_then(|person| person.marked(topic));
        marked.and_then(|mark| mark.parse().ok()).unwrap_or(shown.version)
    }

    async fn ask_person<E>(
        &self,
        topic: Topic,
        version: u64,
        message: String,
        form: Result<ElicitationSchema, E>,
    ) -> Result<JsonObject, Error> {
        let nobody = || {
            let message = "only a person does that, and this client cannot ask one: use `docket check` or REST";
            Error::new(Kind::Permanent, Code::Forbidden, Reason::NotYours, message)
        };
        let schema = form.map_err(|_| nobody())?;
        match self.person() {
            None => Err(nobody()),
            Some(person) => {
                person.fill(Form { topic, mark: version.to_string(), message, schema }).await.ok_or_else(unsaid)
            }
        }
    }

    async fn look_at_checks(&self, project: &ProjectRef, item: &ItemRef) -> Result<Shown, Error> {
        let around = Around { briefs: true, ..Around::default() };
        let seen = self.engine().show(project, std::slice::from_ref(item), around).await?;
        let item = seen.resolve(item)?;
        let key = seen.project_of(item)?.key(item.number);
        let checks = seen.briefs.get(&item.id).map_or(&[][..], |brief| &brief.checks);
        Ok(Shown {
            title: format!("{key} \"{}\"", plain(item.title.as_str())),
            checks: ShownCheck::list(checks, None),
            version: item.version,
        })
    }
}

/// What a check verifies and how it is made, for a person to read.
fn described(shown: &ShownCheck) -> String {
    let check = &shown.check;
    let by = format!("{} (by {})", plain(check.desc.as_str()), plain(check.author.as_str()));
    match &check.kind {
        CheckKind::Manual => by,
        CheckKind::Command { cmd, cwd, .. } => {
            let folder = cwd.as_ref().map(|cwd| format!(" in {}", plain(cwd.as_str()))).unwrap_or_default();
            format!("{by}\n    runs{folder}: {}", plain(cmd.as_str()))
        }
        CheckKind::PullRequest { repository, .. } => format!("{by}\n    looks at {}", plain(repository.as_str())),
    }
}

fn unsaid() -> Error {
    let message = "the person was asked and did not say: ask again, or leave it to them";
    Error::new(Kind::Permanent, Code::Forbidden, Reason::NotYours, message)
}
