//! Schemas of the values that are text or a number on the wire, whatever they are inside.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::limits;
use crate::model::{
    ApiKeyId, CommentId, Complexity, CriterionId, EdgeId, EntryId, EventId, Handle, ItemId, ItemRef, Key, KeyPrefix,
    LinkId, Name, NoteId, ProjectId, QuestionId, SessionId, Slug, Summary, Tag, Text, Timestamp, Title, Ttl, UnitId,
    Url,
};

fn text(about: &str, example: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(about)).examples([serde_json::json!(example)])
}

fn uuid(about: &str) -> ObjectBuilder {
    text(about, "0199f3a2-7c1e-7d3b-8f00-2a4b5c6d7e8f").format(Some(SchemaFormat::Custom("uuid".to_owned())))
}

fn ulid(about: &str) -> ObjectBuilder {
    text(about, "01K7SA4Z0C8R5QY3M2B1N0V9XT").pattern(Some("^[0-9A-HJKMNP-TV-Z]{26}$"))
}

/// Declares the schema of a type by an expression.
macro_rules! schemas {
    ($($name:ident => $schema:expr),* $(,)?) => {
        $(
            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    RefOr::T($schema.build().into())
                }
            }

            impl ToSchema for $name {
                fn name() -> Cow<'static, str> {
                    Cow::Borrowed(stringify!($name))
                }
            }
        )*
    };
}

schemas! {
    ApiKeyId => uuid("Names a key for ever."),
    Handle => text("How a key's secret begins, after its mark.", "1a2b3c4d").pattern(Some("^[0-9a-f]{8}$")),
    ItemId => uuid("Names an item for ever."),
    ProjectId => uuid("Names a project for ever."),
    NoteId => uuid("Names a note for ever."),
    EdgeId => uuid("Names an edge for ever."),
    EventId => ulid("Names an event for ever."),
    QuestionId => ulid("Names a question for ever."),
    CommentId => ulid("Names a comment for ever."),
    LinkId => ulid("Names a link for ever."),
    EntryId => ulid("Names an entry of the knowledge for ever."),
    SessionId => ulid("Names a session for ever."),
    CriterionId => text("Names a criterion within its item.", "c1").pattern(Some("^c[1-9][0-9]*$")),
    Url => text("An absolute http or https address.", "https://example.com/pull/7"),
    UnitId => ulid("Names what was committed together."),
    Key => text("An item's short name.", "DOC-17").pattern(Some("^[A-Z][A-Z0-9]{0,11}-[1-9][0-9]*$")),
    ItemRef => text("An item: its UUID, its key, or 4 or more hex digits that only its UUID begins with.", "DOC-17"),
    Slug => text("A project's name in addresses.", "web").pattern(Some("^[a-z0-9][a-z0-9-]{0,63}$")),
    KeyPrefix => text("The first half of a project's keys.", "WEB").pattern(Some("^[A-Za-z][A-Za-z0-9]{0,11}$")),
    Title => text("One line that is not blank, of at most 1,024 bytes.", "Write the parser").min_length(Some(1)),
    Summary => text("At most 8,192 bytes.", "Reads what the lexer gives"),
    Text => text("At most 262,144 bytes.", "At length, and in Markdown if you like"),
    Name => text("A short name of at most 255 bytes, without control characters.", "parser").min_length(Some(1)),
    Tag => text("Lower-case letters, digits and hyphens.", "backend").pattern(Some("^[a-z0-9][a-z0-9-]*$")),
    Timestamp => text("A moment in UTC, to the millisecond.", "2026-01-31T12:00:00.000Z")
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))),
    Complexity => ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("How hard, from 1 to 10."))
        .minimum(Some(1))
        .maximum(Some(10)),
    Ttl => ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("A lease in seconds."))
        .minimum(Some(*limits::LEASE_SECONDS.start()))
        .maximum(Some(*limits::LEASE_SECONDS.end())),
}
