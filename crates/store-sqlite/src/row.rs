//! What SQL hands over of each row: a JSON array of it, as the structs of [`docket_core::store::row`] read it, and of items also
//! their cells.

use std::sync::LazyLock;

/// How a cell is handed over.
#[derive(Clone, Copy)]
enum Kind {
    /// As it is stored.
    Plain,
    /// An id: bytes, or hex in JSON.
    Id,
    /// A list as JSON; nothing where it is empty, which most are.
    List,
}

/// A row `i` of `items`, in the order of `ItemRow`.
const ITEM_CELLS: [(&str, Kind); 42] = [
    ("i.id", Kind::Id),
    ("i.project_id", Kind::Id),
    ("i.number", Kind::Plain),
    ("i.parent_id", Kind::Id),
    ("i.depth", Kind::Plain),
    ("i.title", Kind::Plain),
    ("i.description", Kind::Plain),
    ("i.summary", Kind::Plain),
    ("i.intent", Kind::Plain),
    ("i.status", Kind::Plain),
    ("i.role", Kind::Plain),
    ("i.outcome", Kind::Plain),
    ("i.previous_status", Kind::Plain),
    ("i.status_label", Kind::Plain),
    ("i.priority", Kind::Plain),
    ("i.complexity", Kind::Plain),
    ("i.item_type", Kind::Plain),
    ("i.tags", Kind::List),
    ("i.traits", Kind::List),
    ("i.metadata", Kind::Plain),
    ("i.properties", Kind::Plain),
    ("i.requires_verification", Kind::Plain),
    ("i.attention", Kind::Plain),
    ("i.due_at", Kind::Plain),
    ("i.estimate_minutes", Kind::Plain),
    ("i.position", Kind::Plain),
    ("i.touches", Kind::List),
    ("i.needs", Kind::List),
    ("i.required_capabilities", Kind::List),
    (CLAIM, Kind::Plain),
    ("i.fence", Kind::Plain),
    ("i.version", Kind::Plain),
    ("i.created_at", Kind::Plain),
    ("i.modified_at", Kind::Plain),
    ("i.role_changed_at", Kind::Plain),
    ("i.blockers", Kind::Plain),
    ("i.moot", Kind::Plain),
    ("i.unblocks", Kind::Plain),
    ("i.rank", Kind::Plain),
    ("i.offered", Kind::Plain),
    ("i.sections", Kind::Plain),
    ("i.inbox", Kind::Plain),
];
const CLAIM: &str = "CASE WHEN i.holder IS NOT NULL THEN json_array(i.holder, i.claimed_at, i.claim_expires_at, \
    i.original_claimed_at, i.claim_ttl) END";

/// How many cells a row of `items` has.
pub(crate) const ITEM_WIDTH: usize = ITEM_CELLS.len();

/// A row `i` of `items` as cells of a row, for [`crate::cells`].
pub(crate) static ITEM_ROW: LazyLock<String> = LazyLock::new(|| {
    let cell = |(cell, kind): &(&str, Kind)| match kind {
        Kind::Plain | Kind::Id => (*cell).to_owned(),
        Kind::List => format!("nullif({cell}, '[]')"),
    };
    ITEM_CELLS.iter().map(cell).collect::<Vec<_>>().join(", ")
});

/// The same as a JSON array.
pub(crate) static ITEM: LazyLock<String> = LazyLock::new(|| {
    let cell = |(cell, kind): &(&str, Kind)| match kind {
        Kind::Plain => (*cell).to_owned(),
        Kind::Id => format!("nullif(hex({cell}), '')"),
        Kind::List => format!("json(nullif({cell}, '[]'))"),
    };
    format!("json_array({})", ITEM_CELLS.iter().map(cell).collect::<Vec<_>>().join(", "))
});

/// A row `e` of `edges`, in the order of `EdgeRow`.
pub(crate) const EDGE: &str =
    "json_array(hex(e.id), e.kind, hex(e.from_id), hex(e.to_id), e.unblock_at, e.inverse, e.created_at)";

/// A row `v` of `events`, in the order of `EventRow`.
pub(crate) const EVENT: &str = "json_array(v.seq, hex(v.id), hex(v.unit), v.at, hex(v.project_id), \
    nullif(hex(v.item_id), ''), nullif(hex(v.other_id), ''), v.verb, v.principal, json(v.attribution), json(v.data))";

/// A row `n` of `notes`, in the order of `NoteRow`.
pub(crate) const NOTE: &str = "json_array(hex(n.id), hex(n.item_id), n.key, n.phase, n.body, json(n.attribution), \
    n.created_at, n.modified_at)";

/// A row `n` of `notes` without its body, in the order of `HeadRow`.
pub(crate) const HEAD: &str = "json_array(hex(n.id), hex(n.item_id), n.key, n.phase, n.filled, n.created_at)";

/// A row `b` of `briefs`, in the order of `BriefRow`.
pub(crate) const BRIEF: &str = "json_array(hex(b.item_id), json(b.brief))";

/// A row `r` of `runs`.
pub(crate) const RUN: &str = "json(r.run)";

/// A row `q` of `questions`, in the order of `QuestionRow`.
pub(crate) const QUESTION: &str = "json_array(hex(q.id), hex(q.item_id), q.text, json(q.options), q.state, q.asked_by, \
    q.asked_at, q.answer, q.ended_by, q.ended_at)";

/// A row `t` of `comments`, in the order of `CommentRow`.
pub(crate) const COMMENT: &str = "json_array(hex(t.id), hex(t.item_id), t.body, t.author, t.created_at)";

/// A row `u` of `links`, in the order of `LinkRow`.
pub(crate) const LINK: &str = "json_array(hex(u.id), hex(u.item_id), u.kind, u.reference, u.url, u.title, u.author, \
    u.created_at)";

/// A row `k` of `knowledge`, in the order of `EntryRow`.
pub(crate) const ENTRY: &str = "json_array(hex(k.id), hex(k.project_id), k.title, k.body, json(k.tags), k.source, \
    nullif(hex(k.source_item), ''), k.author, k.created_at, k.updated_at, k.updated_by, k.version, k.reviewed_by, k.reviewed_at)";

/// The row of `knowledge_counts`, in the order of `MakingRow`.
pub(crate) const MAKING: &str = "json_array(generation, model, width, maker, made_until)";

/// A row `l` of `knowledge_links`, in the order of `EntryLinkRow`.
pub(crate) const ENTRY_LINK: &str = "json_array(hex(l.entry_id), hex(l.item_id), l.kind, l.author, l.created_at)";
/// A row `a` of `sessions`, in the order of `SessionRow`.
pub(crate) const SESSION: &str = "json_array(hex(a.id), hex(a.item_id), hex(a.project_id), a.actor, a.state, a.fence, \
    a.started_at, a.heartbeat_at, a.ended_at, json(a.runtime), json(a.progress), a.summary, a.head, a.reason)";

/// A row `k` of `api_keys`, in the order of `KeyRow`.
pub(crate) const KEY: &str = "json_array(hex(k.id), k.handle, hex(k.digest), k.name, k.profile, json(k.projects), \
    nullif(hex(k.item_id), ''), k.created_at, k.expires_at, k.revoked_at, k.last_used_at)";

/// A row `p` of `projects` with its row `r` of `rules`, in the order of `ProjectRow`.
pub(crate) const PROJECT: &str = "json_array(hex(p.id), p.slug, p.name, p.prefix, json(r.workflow), json(r.schemas), \
    p.next_number, p.version, p.created_at, p.archived_at)";

/// How many bytes the long texts of an item `i` take, as `docket_core::store::fitting` counts them: known without reading them.
pub(crate) const LONG: &str = "octet_length(i.summary) + coalesce(octet_length(i.description), 0) \
     + coalesce(octet_length(i.properties), 0) + coalesce(octet_length(i.metadata), 0)";
