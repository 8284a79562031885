//! What SQL hands over of each row: a JSON array of it, as the structs of [`docket_core::store::row`] read it.

/// A row `i` of `items`, in the order of `ItemRow`.
pub(crate) const ITEM: &str = "json_build_array(i.id, i.project_id, i.number, i.parent_id, i.depth, \
    i.title, i.description, i.summary, i.intent, i.status, i.role, i.outcome, i.previous_status, i.status_label, i.priority, \
    i.complexity, i.item_type, i.tags, i.traits, i.metadata, i.properties, i.requires_verification, \
    i.attention, i.due_at, i.estimate_minutes, i.position, i.touches, i.needs, i.required_capabilities, \
    CASE WHEN i.holder IS NOT NULL THEN json_build_array(i.holder, i.claimed_at, i.claim_expires_at, i.original_claimed_at, \
    i.claim_ttl) END, i.fence, i.version, i.created_at, i.modified_at, i.role_changed_at, i.blockers, i.moot, i.unblocks, \
    i.rank, i.offered, i.sections, i.inbox)";

/// A row `e` of `edges`, in the order of `EdgeRow`.
pub(crate) const EDGE: &str =
    "json_build_array(e.id, e.kind, e.from_id, e.to_id, e.unblock_at, e.inverse, e.created_at)";

/// A row `v` of `events`, in the order of `EventRow`.
pub(crate) const EVENT: &str = "json_build_array(v.seq, v.id, v.unit, v.at, v.project_id, \
    v.item_id, v.other_id, v.verb, v.principal, v.attribution, v.data)";

/// A row `n` of `notes`, in the order of `NoteRow`.
pub(crate) const NOTE: &str = "json_build_array(n.id, n.item_id, n.key, n.phase, n.body, n.attribution, \
    n.created_at, n.modified_at)";

/// A row `n` of `notes` without its body, in the order of `HeadRow`.
pub(crate) const HEAD: &str = "json_build_array(n.id, n.item_id, n.key, n.phase, n.filled, n.created_at)";

/// A row `b` of `briefs`, in the order of `BriefRow`.
pub(crate) const BRIEF: &str = "json_build_array(b.item_id, b.brief)";

/// A row `r` of `runs`.
pub(crate) const RUN: &str = "r.run";

/// A row `q` of `questions`, in the order of `QuestionRow`.
pub(crate) const QUESTION: &str = "json_build_array(q.id, q.item_id, q.text, q.options, q.state, q.asked_by, \
    q.asked_at, q.answer, q.ended_by, q.ended_at)";

/// A row `t` of `comments`, in the order of `CommentRow`.
pub(crate) const COMMENT: &str = "json_build_array(t.id, t.item_id, t.body, t.author, t.created_at)";

/// A row `u` of `links`, in the order of `LinkRow`.
pub(crate) const LINK: &str = "json_build_array(u.id, u.item_id, u.kind, u.reference, u.url, u.title, u.author, \
    u.created_at)";

/// A row `k` of `knowledge`, in the order of `EntryRow`.
pub(crate) const ENTRY: &str = "json_build_array(k.id, k.project_id, k.title, k.body, k.tags, k.source, k.source_item, \
    k.author, k.created_at, k.updated_at, k.updated_by, k.version, k.reviewed_by, k.reviewed_at)";

/// The row of `knowledge_counts`, in the order of `MakingRow`.
pub(crate) const MAKING: &str = "json_build_array(generation, model, width, maker, made_until)";

/// A row `l` of `knowledge_links`, in the order of `EntryLinkRow`.
pub(crate) const ENTRY_LINK: &str = "json_build_array(l.entry_id, l.item_id, l.kind, l.author, l.created_at)";
/// A row `a` of `sessions`, in the order of `SessionRow`.
pub(crate) const SESSION: &str = "json_build_array(a.id, a.item_id, a.project_id, a.actor, a.state, a.fence, \
    a.started_at, a.heartbeat_at, a.ended_at, a.runtime, a.progress, a.summary, a.head, a.reason)";

/// A row `k` of `api_keys`, in the order of `KeyRow`.
pub(crate) const KEY: &str = "json_build_array(k.id, k.handle, encode(k.digest, 'hex'), k.name, k.profile, \
    k.projects, k.item_id, k.created_at, k.expires_at, k.revoked_at, k.last_used_at)";

/// A row `p` of `projects` with its row `r` of `rules`, in the order of `ProjectRow`.
pub(crate) const PROJECT: &str = "json_build_array(p.id, p.slug, p.name, p.prefix, r.workflow, r.schemas, \
    p.next_number, p.version, p.created_at, p.archived_at)";

/// How many bytes the long texts of an item `i` take, as `docket_core::store::fitting` counts them: known without reading them.
pub(crate) const LONG: &str = "octet_length(i.summary) + coalesce(octet_length(i.description), 0) \
     + coalesce(octet_length(i.properties), 0) + coalesce(octet_length(i.metadata), 0)";
