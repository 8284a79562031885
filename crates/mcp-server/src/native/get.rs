//! `get`: one item. Where it stands is always said; what else, by profile and `include`; and only what changed, to whoever
//! hands back the token of an earlier read.

use std::collections::BTreeMap;

use docket_core::Error;
use docket_core::query::{Delta, Includes, ParentReach, Section};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::common::{need_item, project_of_item};
use super::schema::{self, Effect, text, text_of, word};
use super::sections::{Profile, known_by, names, sections};
use super::split::{Split, put};
use crate::answer::Answer;
use crate::args::{actor, one_of};
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["id", "profile", "include", "since", "project", "actor"];

const PROFILES: &[(&str, Profile)] = &[("compact", Profile::Compact), ("work", Profile::Work), ("full", Profile::Full)];

const INCLUDES: &[(&str, Section)] = &[
    ("parent", Section::Parent),
    ("links", Section::Links),
    ("relations", Section::Relations),
    ("activity", Section::Activity),
    ("subtasks", Section::Subtasks),
    ("comments", Section::Comments),
    ("notes", Section::Notes),
    ("checks", Section::Checks),
];

/// How many comments and lines of activity are shown.
const NEWEST: usize = 20;

pub(super) fn tool() -> Tool {
    let includes: Vec<&str> = INCLUDES.iter().map(|(word, _)| *word).collect();
    let properties = json!({
        "id": text(),
        "profile": word(&["compact", "work", "full"]),
        "include": { "type": "array", "items": { "enum": includes } },
        "since": text_of("readToken of an earlier get: only what changed"),
        "actor": { "type": "object" },
    });
    schema::tool(
        "get",
        "One item: guard (where it stands), task, brief, verdict, checks, question.",
        Effect::Reads,
        properties,
        &["id"],
    )
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let item = need_item(&mut fields)?;
    let profile = fields.parsed("profile", one_of(PROFILES))?.unwrap_or_default();
    let include = fields.texts("include", one_of(INCLUDES))?.unwrap_or_default();
    let since = fields.parsed("since", |text| Ok(text.to_owned()))?;
    let by = actor(session, &mut fields, "actor")?;
    let project = project_of_item(session, &mut fields).await?;
    let asked = asked(profile, &include);
    let wants = |section| asked.contains(&section);
    let reach = match profile {
        Profile::Full => ParentReach::Full,
        Profile::Compact | Profile::Work if wants(Section::Parent) => ParentReach::Summary,
        Profile::Compact | Profile::Work => ParentReach::None,
    };
    let includes = Includes {
        parent: reach,
        links: wants(Section::Links),
        relations: wants(Section::Relations),
        activity: wants(Section::Activity).then_some(NEWEST),
        subtasks: wants(Section::Subtasks),
        comments: wants(Section::Comments).then_some(NEWEST),
        notes: wants(Section::Notes),
    };
    let dossier = session.engine().dossier(&project, &item, includes).await?;
    let names = names(session, &dossier).await;
    let call = session.call(by, None);
    let all = sections(&dossier, profile, reach, &asked, call.holder().ok().as_ref(), &names);
    let marked: BTreeMap<Section, Value> =
        all.iter().map(|(section, piece)| (*section, json!([piece.trusted, piece.untrusted]))).collect();
    let delta = Delta::new(&dossier.item.id.to_string(), &asked, marked, since.as_deref())?;
    Ok(answer(&delta, all, known_by(&dossier)))
}

/// What a profile shows, and what was asked for beside it.
fn asked(profile: Profile, include: &[Section]) -> Vec<Section> {
    let usual: &[Section] = match profile {
        Profile::Compact => &[Section::Guard, Section::Task],
        Profile::Work => &[
            Section::Guard,
            Section::Task,
            Section::Parent,
            Section::Brief,
            Section::Verdict,
            Section::Checks,
            Section::Question,
        ],
        Profile::Full => &[
            Section::Guard,
            Section::Task,
            Section::Parent,
            Section::Brief,
            Section::Verdict,
            Section::Checks,
            Section::Question,
            Section::Links,
            Section::Relations,
            Section::Activity,
            Section::Subtasks,
            Section::Comments,
            Section::Notes,
        ],
    };
    let more = include.iter().filter(|section| !usual.contains(section));
    usual.iter().chain(more).copied().collect()
}

fn answer(delta: &Delta, mut all: BTreeMap<Section, Split>, known_by: Map<String, Value>) -> Answer {
    let mut body = Map::new();
    let mut split = Split::default();
    if delta.is_unchanged() {
        put(&mut body, "unchanged", true);
        split.say("guard", known_by);
    } else {
        if delta.since {
            let changed: Vec<&str> = delta.changed.iter().map(|section| section.as_str()).collect();
            put(&mut body, "changed", changed);
        }
        // The guard is there in any case.
        let sent = |section: &Section| {
            *section == Section::Guard || delta.sections.get(section).is_some_and(|value| !value.is_null())
        };
        let order: Vec<Section> = all.keys().copied().filter(sent).collect();
        for section in order {
            if let Some(piece) = all.remove(&section) {
                split.add(section.as_str(), piece);
            }
        }
    }
    put(&mut body, "trusted", split.trusted);
    put(&mut body, "untrusted", split.untrusted);
    put(&mut body, "readToken", &delta.token);
    Answer::of(&body)
}
