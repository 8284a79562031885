//! Ready work, the best first, and what keeps others from it: candidates, held items, live claims.

use std::fmt::Write as _;

use docket_core::model::Name;
use docket_core::store::code::{Coded, TERMINAL};
use docket_core::store::{Candidates, Scope};
use uuid::Uuid;

use super::look::{Look, table};
use crate::error::Trouble;
use crate::script::{Param, Script};

/// Work `r` that was begun and left, as its index spells it.
const LEFT: &str = "(r.role = 1 AND r.fence > 0 AND r.offered = 1)";

/// What concerns projects as a whole. Returns the items that are shown of it.
pub(super) fn of_projects(look: &mut Look<'_>, scope: &Scope, meant: &[Uuid]) -> Result<Vec<Uuid>, Trouble> {
    let mut shown = Vec::new();
    if meant.is_empty() {
        return Ok(shown);
    }
    if !scope.held_by.is_empty() {
        shown.extend(held(look, &scope.held_by, meant)?);
    }
    if scope.busy {
        busy(look, meant)?;
    }
    if let Some(wanted) = &scope.candidates {
        let picked = candidates(look, wanted, meant)?;
        look.pack("picked", &picked);
        shown.extend(picked);
    }
    Ok(shown)
}

/// What agents hold, the oldest items first.
fn held(look: &mut Look<'_>, holders: &[Name], meant: &[Uuid]) -> Result<Vec<Uuid>, Trouble> {
    let mut script = Script::default();
    let meant = table(&mut script, meant);
    let theirs = match holders {
        [holder] => format!("i.holder = {}", script.text(holder.as_str())),
        holders => format!("i.holder IN (SELECT value FROM json_each({}))", script.json(&holders)),
    };
    script.add(format!(
        "SELECT i.id FROM {meant} m CROSS JOIN items i INDEXED BY items_held \
         ON {theirs} AND i.project_id = m.id ORDER BY i.pk"
    ));
    let held = look.ids(&script)?;
    look.pack("held", &held);
    Ok(held)
}

/// What live claims touch and need.
fn busy(look: &mut Look<'_>, meant: &[Uuid]) -> Result<(), Trouble> {
    let mut script = Script::default();
    let (meant, now) = (table(&mut script, meant), script.int(look.now()));
    let claims = |live: &str| {
        format!(
            "SELECT json_array(hex(i.id), hex(i.project_id), json(i.touches), json(i.needs)) \
             FROM {meant} m CROSS JOIN items i INDEXED BY items_busy \
             ON i.project_id = m.id AND i.holder IS NOT NULL AND (i.touches <> '[]' OR i.needs <> '[]') AND {live}"
        )
    };
    let lasting = claims("i.claim_expires_at IS NULL");
    script.add(format!("{lasting} UNION ALL {}", claims(&format!("i.claim_expires_at > {now}"))));
    look.rows("busy", &script)?;
    Ok(())
}

/// Ready work, the best first, one more than was asked for.
///
/// Where whole projects are meant, ready items without a claim come in order from their own index, and only as many as
/// are wanted, and so does work that was begun and left; to those come the claims that ran out. So neither live claims nor
/// blocked items are ever looked at, however many there are. Beneath one item, its children or descendants are looked
/// through.
fn candidates(look: &mut Look<'_>, wanted: &Candidates, projects: &[Uuid]) -> Result<Vec<Uuid>, Trouble> {
    let Some(meant) = meant(wanted) else { return Ok(Vec::new()) };
    let mut script = Script::default();
    let projects = Projects::of(&mut script, projects);
    let order = Order::of(wanted);
    let now = script.int(look.now());
    let most = script.limit(wanted.limit.saturating_add(1));
    let fits = conditions(&mut script, wanted);
    let ready = if wanted.offered_only { "r.offered = 1" } else { "(r.offered = 1 OR r.blockers = 0)" };
    // A claim without an expiry lives until it is released: no comparison with NULL holds.
    let free = if wanted.include_claimed { "1" } else { &format!("r.claim_expires_at <= {now}") };
    let mut branches = Vec::new();
    if let Some(beneath) = beneath(&mut script, wanted) {
        let free = if wanted.include_claimed { "1" } else { &format!("(r.holder IS NULL OR {free})") };
        branches.push(format!(
            "SELECT {} FROM {beneath} WHERE {} AND {ready} AND {free} AND {meant} AND {fits}",
            order.candidate("r"),
            projects.hold("+r.project_id")
        ));
    } else {
        let mut in_order = |index: &str, condition: &str| {
            let condition = format!("{condition} AND r.holder IS NULL AND {fits}");
            branches.push(projects.in_order(order, index, &condition, &most));
        };
        if let Some(role) = wanted.role {
            let of_role = format!("r.role = {} AND r.role <> {TERMINAL}", role.code());
            in_order("items_ready", &format!("r.offered = 1 AND {of_role}"));
            if !wanted.offered_only {
                in_order("items_ready", &format!("r.offered = 0 AND r.blockers = 0 AND {of_role}"));
            }
        }
        if wanted.left {
            in_order("items_left", LEFT);
        }
        branches.push(projects.claimed(order, &format!("{free} AND {ready} AND {meant} AND {fits}")));
    }
    script.add(format!(
        "SELECT (SELECT i.id FROM items i WHERE i.pk = picked.pk) FROM ({}) picked \
         ORDER BY one, two, three LIMIT {most}",
        branches.join(" UNION ALL ")
    ));
    look.ids(&script)
}

/// What candidates are put in order by: three columns of their rows, of which no two candidates have all in common.
#[derive(Clone, Copy)]
struct Order([&'static str; 3]);

impl Order {
    fn of(wanted: &Candidates) -> Self {
        match wanted.urgent {
            // All of it is in the index that they come from.
            None => Self(["rank", "number", "project_id"]),
            Some(_) => Self(["priority", "created_at", "id"]),
        }
    }

    /// What is known of a candidate while the best are picked.
    fn candidate(self, row: &str) -> String {
        let [one, two, three] = self.0;
        format!("{row}.pk, {row}.{one} AS one, {row}.{two} AS two, {row}.{three} AS three")
    }

    /// The order within one project.
    fn within(self) -> &'static str {
        if self.0[0] == "rank" { "r.rank, r.number" } else { "r.priority, r.created_at, r.id" }
    }
}

/// The projects whose work is looked through, as a statement has them.
enum Projects {
    /// One, by its bound id.
    One(Param),
    /// A table of them.
    Several(String),
}

impl Projects {
    fn of(script: &mut Script, projects: &[Uuid]) -> Self {
        match projects {
            [only] => Self::One(script.uuid(*only)),
            several => Self::Several(table(script, several)),
        }
    }

    fn hold(&self, column: &str) -> String {
        match self {
            Self::One(project) => format!("{column} = {project}"),
            Self::Several(table) => format!("{column} IN (SELECT id FROM {table})"),
        }
    }

    /// The first so many of each, in the order of an index.
    fn in_order(&self, order: Order, index: &str, condition: &str, most: &str) -> String {
        let within = order.within();
        match self {
            Self::One(project) => format!(
                "SELECT * FROM (SELECT {} FROM items r INDEXED BY {index} WHERE r.project_id = {project} \
                 AND {condition} ORDER BY {within} LIMIT {most})",
                order.candidate("r")
            ),
            Self::Several(table) => format!(
                "SELECT {} FROM {table} m CROSS JOIN items i ON i.pk IN ( \
                    SELECT r.pk FROM items r INDEXED BY {index} WHERE r.project_id = m.id AND {condition} \
                    ORDER BY {within} LIMIT {most})",
                order.candidate("i")
            ),
        }
    }

    /// What is claimed, as far as a condition on its row holds.
    fn claimed(&self, order: Order, condition: &str) -> String {
        let candidate = order.candidate("r");
        match self {
            Self::One(project) => format!(
                "SELECT {candidate} FROM items r INDEXED BY items_claimed \
                 WHERE r.project_id = {project} AND r.holder IS NOT NULL AND {condition}"
            ),
            Self::Several(table) => format!(
                "SELECT {candidate} FROM {table} m CROSS JOIN items r INDEXED BY items_claimed \
                 ON r.project_id = m.id AND r.holder IS NOT NULL AND {condition}"
            ),
        }
    }
}

/// Where a candidate `r` must stand; nowhere, when neither ready nor left work is wanted.
fn meant(wanted: &Candidates) -> Option<String> {
    let role = wanted.role.map(|role| format!("r.role = {}", role.code()));
    let ways: Vec<String> = role.into_iter().chain(wanted.left.then(|| LEFT.to_owned())).collect();
    (!ways.is_empty()).then(|| format!("({})", ways.join(" OR ")))
}

/// What else a candidate `r` must be, claims aside.
fn conditions(script: &mut Script, wanted: &Candidates) -> String {
    let mut fits = "1".to_owned();
    // Writing into a String does not fail.
    if let Some(item_type) = &wanted.item_type {
        let item_type = script.text(item_type.as_str());
        let _ = write!(fits, " AND r.item_type = {item_type}");
    }
    if !wanted.tags.is_empty() {
        let tags = script.json(&wanted.tags);
        let _ = write!(
            fits,
            " AND EXISTS (SELECT 1 FROM item_tags t WHERE t.item_pk = r.pk AND t.tag IN (SELECT value FROM json_each({tags})))"
        );
    }
    if let Some(least) = wanted.urgent {
        let _ = write!(fits, " AND r.priority <= {}", least.code());
    } else if let Some((rank, number, project)) = wanted.after {
        let (rank, number, project) = (script.int(rank), script.int(number.into()), script.uuid(project.as_uuid()));
        let _ = write!(fits, " AND (r.rank, r.number, r.project_id) > ({rank}, {number}, {project})");
    }
    fits
}

/// Where the candidates `r` lie, if only in a part of the tree.
fn beneath(script: &mut Script, wanted: &Candidates) -> Option<String> {
    let under = wanted.under.map(|id| script.uuid(id.as_uuid()));
    let parent = wanted.parent.map(|id| script.uuid(id.as_uuid()));
    let inside = under.map(|under| {
        format!(
            "(WITH RECURSIVE down (id) AS (SELECT {under} UNION \
             SELECT c.id FROM down CROSS JOIN items c ON c.parent_id = down.id) SELECT id FROM down) d"
        )
    });
    match (parent, inside) {
        (None, None) => None,
        (Some(parent), None) => Some(format!("(SELECT {parent} AS id) d CROSS JOIN items r ON r.parent_id = d.id")),
        (None, Some(inside)) => Some(format!("{inside} CROSS JOIN items r ON r.parent_id = d.id")),
        (Some(parent), Some(inside)) => {
            Some(format!("{inside} CROSS JOIN items r ON r.parent_id = d.id AND +r.parent_id = {parent}"))
        }
    }
}
