//! Briefs, verdicts and questions as people read them, and how they are spelled on a command line.

use docket_core::checks::Look;
use docket_core::command::{BriefText, Change, NewCriterion, NewLink, Proof};
use docket_core::contract::{CriterionVerdict, Verdict};
use docket_core::model::{Authority, Brief, Criterion, Question, QuestionState, Standing, Text, Title, Url};
use docket_core::{Error, Invalid, Reason, echo};

use super::{listing, values};
use crate::config::locate::Surroundings;
use crate::exit::Failure;
use crate::output::{Paint, escape};

/// The sections of a brief, as options.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct BriefFlags {
    /// The goal, in a sentence
    #[arg(long, value_name = "TEXT")]
    objective: Option<String>,
    /// What one must know: background, places, paths
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// A line that must be true when it is done, for the agent to show; may be given several times
    #[arg(long, value_name = "TEXT")]
    criterion: Vec<String>,
    /// The same, for a person to sign off
    #[arg(long, value_name = "TEXT")]
    sign_off: Vec<String>,
    /// What must or must never be; may be given several times
    #[arg(long, value_name = "TEXT")]
    constraint: Vec<String>,
    /// How to prove that it works
    #[arg(long, value_name = "TEXT")]
    verification: Option<String>,
    /// What to leave for review
    #[arg(long, value_name = "TEXT")]
    handoff: Option<String>,
}

impl BriefFlags {
    /// What they say of a brief.
    pub(super) fn read(&self) -> Result<BriefText, Failure> {
        let text = |given: &Option<String>, option: &str| -> Result<Change<Text>, Failure> {
            let text = given.as_deref().map(Text::parse).transpose().map_err(|invalid| invalid.at(option))?;
            Ok(text.map_or(Change::Keep, Change::Set))
        };
        let texts = |given: &[String], option: &str| -> Result<Vec<Text>, Failure> {
            given.iter().map(|line| Text::parse(line).map_err(|invalid| invalid.at(option).into())).collect()
        };
        let mut criteria: Vec<NewCriterion> =
            texts(&self.criterion, "--criterion")?.into_iter().map(NewCriterion::saying).collect();
        criteria.extend(
            texts(&self.sign_off, "--sign-off")?
                .into_iter()
                .map(|text| NewCriterion { verifier: Some(Authority::Human), ..NewCriterion::saying(text) }),
        );
        let constraints = texts(&self.constraint, "--constraint")?;
        Ok(BriefText {
            objective: text(&self.objective, "--objective")?,
            context: text(&self.context, "--context")?,
            acceptance_criteria: if criteria.is_empty() { Change::Keep } else { Change::Set(criteria) },
            constraints: if constraints.is_empty() { Change::Keep } else { Change::Set(constraints) },
            verification: text(&self.verification, "--verification")?,
            handoff_expectations: text(&self.handoff, "--handoff")?,
        })
    }

    /// What they say, or what a file says; not both.
    pub(super) fn or_file(
        &self,
        around: &Surroundings,
        file: Option<&str>,
        option: &str,
    ) -> Result<BriefText, Failure> {
        let said = self.read()?;
        let Some(file) = file else { return Ok(said) };
        if !said.is_empty() {
            let message = format!("{option} goes without the sections as options: say it in one of the two ways");
            return Err(Error::validation(Reason::BadValue, message).at(option).into());
        }
        values::json(around, file, option)
    }
}

/// What was found of criteria, each as `c1=pass` or `c2=fail`.
pub(super) fn proofs(words: &[String], note: Option<&Text>) -> Result<Vec<Proof>, Failure> {
    let one = |word: &String| -> Result<Proof, Failure> {
        let bad = || {
            let message =
                format!("a criterion is given with how it stands, such as c1=pass or c2=fail, not \"{}\"", echo(word));
            Failure::from(Error::validation(Reason::BadValue, message).at("CRITERION"))
        };
        let (criterion, standing) = word.split_once('=').ok_or_else(bad)?;
        let criterion = criterion.parse().map_err(|invalid: Invalid| Failure::from(invalid.at("CRITERION")))?;
        let passed = match standing.to_ascii_lowercase().as_str() {
            "pass" => true,
            "fail" => false,
            _ => return Err(bad()),
        };
        Ok(Proof { criterion, passed, note: note.cloned() })
    };
    words.iter().map(one).collect()
}

/// A link to something outside.
pub(super) fn link(kind: &str, reference: &str, url: &str, title: Option<&str>) -> Result<NewLink, Failure> {
    Ok(NewLink {
        kind: values::name(kind, "KIND")?,
        reference: values::name(reference, "REF")?,
        url: Url::parse(url).map_err(|invalid| invalid.at("URL"))?,
        title: title.map(Title::parse).transpose().map_err(|invalid| invalid.at("--title"))?,
    })
}

/// A brief with how its criteria stand, and its checks on the work tree that was looked at.
pub(super) fn brief_lines(brief: &Brief, score: u8, look: Option<&Look>, paint: Paint) -> Vec<String> {
    let mut lines = vec![paint.dim(&format!("complete to {score} of 100"))];
    let mut section = |heading: &str, text: &str| {
        lines.push(paint.bold(heading));
        lines.extend(escape::block(text).lines().map(|line| format!("  {line}")));
    };
    for (heading, text) in [("Objective", &brief.objective), ("Context", &brief.context)] {
        if let Some(text) = text {
            section(heading, text.as_str());
        }
    }
    if !brief.acceptance_criteria.is_empty() {
        section("Acceptance criteria", "");
        lines.extend(brief.acceptance_criteria.iter().flat_map(|criterion| criterion_lines(criterion, paint)));
    }
    if !brief.checks.is_empty() {
        lines.push(paint.bold("Checks"));
        lines.extend(super::check::lines(&brief.checks, look, paint));
    }
    if !brief.constraints.is_empty() {
        lines.push(paint.bold("Constraints"));
        lines.extend(brief.constraints.iter().map(|line| format!("  - {}", escape::line(line.as_str()))));
    }
    for (heading, text) in [("Verification", &brief.verification), ("Handoff", &brief.handoff_expectations)] {
        if let Some(text) = text {
            lines.push(paint.bold(heading));
            lines.extend(escape::block(text.as_str()).lines().map(|line| format!("  {line}")));
        }
    }
    lines
}

fn criterion_lines(criterion: &Criterion, paint: Paint) -> Vec<String> {
    let settled = criterion.settled_by();
    let mut lines = one(
        &CriterionVerdict {
            id: criterion.id,
            text: criterion.text.clone(),
            status: criterion.standing(),
            verifier: criterion.verifier,
            hard: criterion.hard,
            instructions: criterion.instructions.clone(),
            settled_by: settled.map(|evidence| evidence.authority),
            note: settled.and_then(|evidence| evidence.note.clone()),
        },
        paint,
    );
    if let Some(evidence) = settled {
        let (by, at) = (escape::line(evidence.by.as_str()), listing::moment(evidence.at));
        let said = if evidence.authority == Authority::Human { "signed off by" } else { "by" };
        lines.push(paint.dim(&format!("        {said} {by} at {at}")));
    }
    lines
}

/// How far an item is shown.
pub(super) fn verdict_lines(verdict: &Verdict, paint: Paint) -> Vec<String> {
    if verdict.criteria.is_empty() {
        return vec![paint.dim("no acceptance criteria: nothing has to be shown")];
    }
    let counts = verdict.counts;
    let stage = match (verdict.ready_for_done, verdict.ready_for_review) {
        (true, _) => paint.good("its criteria let it be done"),
        (false, true) => "its criteria let it into review, not further".to_owned(),
        (false, false) => paint.bad("its criteria keep it from review"),
    };
    let sum = format!("{} passed, {} failed, {} open: {stage}", counts.pass, counts.fail, counts.open);
    std::iter::once(sum).chain(verdict.criteria.iter().flat_map(|criterion| one(criterion, paint))).collect()
}

fn one(criterion: &CriterionVerdict, paint: Paint) -> Vec<String> {
    let status = match criterion.status {
        Standing::Pass => paint.good("pass "),
        Standing::Fail => paint.bad("fail "),
        Standing::Open => "open ".to_owned(),
        Standing::Stale => paint.bad("stale"),
    };
    let mut asks = Vec::new();
    match criterion.verifier {
        Authority::Agent => {}
        Authority::Check => asks.push("by a check"),
        Authority::Human => asks.push("for a person to sign off"),
    }
    if !criterion.hard {
        asks.push("soft");
    }
    let asks = if asks.is_empty() { String::new() } else { paint.dim(&format!("  ({})", asks.join(", "))) };
    let mut lines = vec![format!(
        "  {status} {} {}{asks}",
        paint.key(&criterion.id.to_string()),
        escape::line(criterion.text.as_str())
    )];
    if let Some(how) = criterion.instructions.as_ref().filter(|_| criterion.status != Standing::Pass) {
        lines.push(paint.dim(&format!("        show it by: {}", escape::line(how.as_str()))));
    }
    if let Some(note) = &criterion.note {
        let by = criterion.settled_by.map_or("", Authority::as_str);
        lines.push(paint.dim(&format!("        {by}: {}", escape::line(note.as_str()))));
    }
    lines
}

/// A question and what became of it.
pub(super) fn question_lines(question: &Question, paint: Paint) -> Vec<String> {
    let state = match question.state {
        QuestionState::Open => paint.bad("open"),
        QuestionState::Answered => paint.good("answered"),
        QuestionState::Cancelled => paint.dim("taken back"),
    };
    let asked = paint.dim(&format!(
        "{} asked by {} at {}",
        question.id,
        escape::line(question.asked_by.as_str()),
        listing::moment(question.asked_at)
    ));
    let mut lines = vec![format!("{state} {}  {asked}", escape::line(question.text.as_str()))];
    lines.extend(question.options.iter().map(|option| format!("  - {}", escape::line(option.as_str()))));
    if let Some(answer) = &question.answer {
        let by = question.ended_by.as_ref().map_or_else(String::new, |by| format!(" by {}", escape::line(by.as_str())));
        lines.push(format!("  answered{by}: {}", escape::line(answer.as_str())));
    }
    lines
}
