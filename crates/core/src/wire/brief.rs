//! Briefs in requests. The sections are called as in answers, null deletes, and a criterion of which nothing else is said may be
//! its text alone.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::command::{BriefText, Change, NewCriterion};
use crate::model::{Authority, CriterionId, Text};

impl<'de> Deserialize<'de> for BriefText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        #[derive(Default)]
        struct Body {
            objective: Change<Text>,
            context: Change<Text>,
            acceptance_criteria: Change<Vec<NewCriterion>>,
            constraints: Change<Vec<Text>>,
            verification: Change<Text>,
            handoff_expectations: Change<Text>,
        }
        let body = Body::deserialize(deserializer)?;
        Ok(Self {
            objective: body.objective,
            context: body.context,
            acceptance_criteria: body.acceptance_criteria,
            constraints: body.constraints,
            verification: body.verification,
            handoff_expectations: body.handoff_expectations,
        })
    }
}

impl<'de> Deserialize<'de> for NewCriterion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Line)
    }
}

/// Reads a criterion: text, or an object.
struct Line;

impl<'de> Visitor<'de> for Line {
    type Value = NewCriterion;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or an object")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<NewCriterion, E> {
        Text::parse(text).map(NewCriterion::saying).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NewCriterion, A::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Body {
            id: Option<CriterionId>,
            text: Text,
            verifier: Option<Authority>,
            hard: Option<bool>,
            #[serde(default)]
            instructions: Change<Text>,
        }
        let body = Body::deserialize(MapAccessDeserializer::new(map))?;
        Ok(NewCriterion {
            id: body.id,
            text: body.text,
            verifier: body.verifier,
            hard: body.hard,
            instructions: body.instructions,
        })
    }
}

#[cfg(feature = "openapi")]
mod schema {
    use std::borrow::Cow;

    use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
    use utoipa::openapi::{Ref, RefOr};
    use utoipa::{PartialSchema, ToSchema};

    use super::{Authority, BriefText, CriterionId, NewCriterion, Text};

    type Named = Vec<(String, RefOr<Schema>)>;

    fn named(name: &str) -> Ref {
        Ref::from_schema_name(name)
    }

    fn about(name: &str, about: &str) -> Ref {
        let mut named = named(name);
        about.clone_into(&mut named.description);
        named
    }

    fn or_null(schema: impl Into<RefOr<Schema>>, about: &str) -> RefOr<Schema> {
        let null = Object::with_type(SchemaType::Type(Type::Null));
        RefOr::T(Schema::OneOf(OneOfBuilder::new().item(null).item(schema).description(Some(about)).build()))
    }

    impl PartialSchema for BriefText {
        fn schema() -> RefOr<Schema> {
            let list = |name: &str| ArrayBuilder::new().items(named(name)).build();
            ObjectBuilder::new()
                .description(Some("What is written of a brief; null empties a section."))
                .property("objective", or_null(named("Text"), "The goal, in a sentence."))
                .property("context", or_null(named("Text"), "What one must know: background, places, paths."))
                .property("acceptanceCriteria", or_null(list("NewCriterion"), "Done is when each of these is true."))
                .property("constraints", or_null(list("Text"), "What must or must never be."))
                .property("verification", or_null(named("Text"), "How to prove that it works."))
                .property("handoffExpectations", or_null(named("Text"), "What to leave for review."))
                .build()
                .into()
        }
    }

    impl ToSchema for BriefText {
        fn name() -> Cow<'static, str> {
            Cow::Borrowed("NewBrief")
        }

        fn schemas(schemas: &mut Named) {
            schemas.push((NewCriterion::name().into_owned(), NewCriterion::schema()));
            NewCriterion::schemas(schemas);
        }
    }

    impl PartialSchema for NewCriterion {
        fn schema() -> RefOr<Schema> {
            let hard = ObjectBuilder::new()
                .schema_type(SchemaType::Type(Type::Boolean))
                .description(Some("Whether it gates moves: it does, where nothing is said of a new one."))
                .build();
            let whole = ObjectBuilder::new()
                .property("id", about("CriterionId", "The criterion it is, where it is one that is there."))
                .property("text", about("Text", "What must be true."))
                .property(
                    "verifier",
                    about("Authority", "Who shows it: the agent, where nothing is said of a new one."),
                )
                .property("hard", hard)
                .property("instructions", or_null(named("Text"), "How to show it; null takes it away."))
                .required("text")
                .build();
            let line = "A line that must be true: its text, or an object that says more. One that is there keeps its name and \
                         evidence: it is known by its id, or by saying the same.";
            let either = OneOfBuilder::new().item(named("Text")).item(whole).description(Some(line)).build();
            RefOr::T(Schema::OneOf(either))
        }
    }

    impl ToSchema for NewCriterion {
        fn name() -> Cow<'static, str> {
            Cow::Borrowed("NewCriterion")
        }

        fn schemas(schemas: &mut Named) {
            schemas.push((Text::name().into_owned(), Text::schema()));
            schemas.push((CriterionId::name().into_owned(), CriterionId::schema()));
            schemas.push((Authority::name().into_owned(), Authority::schema()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::from_value;
    use super::*;
    use crate::error::Reason;

    #[test]
    fn a_criterion_is_a_text_or_an_object_and_null_clears() {
        let brief: BriefText = from_value(json!({
            "objective": "Parse it",
            "context": null,
            "acceptanceCriteria": ["it compiles", {"id": "c2", "text": "ann likes it", "verifier": "human", "hard": false}],
        }))
        .expect("a brief");
        assert!(matches!(&brief.objective, Change::Set(text) if text.as_str() == "Parse it"));
        assert_eq!((&brief.context, &brief.verification), (&Change::Clear, &Change::Keep));
        let Change::Set(lines) = brief.acceptance_criteria else { panic!("criteria") };
        assert_eq!((lines[0].text.as_str(), lines[0].verifier), ("it compiles", None));
        assert_eq!(
            (lines[1].id, lines[1].verifier, lines[1].hard),
            (Some(CriterionId(2)), Some(Authority::Human), Some(false))
        );
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_whole_path() {
        for (body, field, reason) in [
            (json!({"goal": "x"}), "goal", Reason::UnknownField),
            (json!({"acceptanceCriteria": [7]}), "acceptanceCriteria[0]", Reason::BadValue),
            (
                json!({"acceptanceCriteria": [{"text": "x", "vrifier": "human"}]}),
                "acceptanceCriteria[0].vrifier",
                Reason::UnknownField,
            ),
            (json!({"acceptanceCriteria": [{"text": "x", "id": "7"}]}), "acceptanceCriteria[0].id", Reason::BadId),
            (json!({"acceptanceCriteria": [{"hard": true}]}), "acceptanceCriteria[0].text", Reason::MissingField),
        ] {
            let refused = from_value::<BriefText>(body).expect_err(field);
            assert_eq!((refused.field.as_deref(), refused.reason), (Some(field), reason), "{}", refused.message);
        }
    }
}
