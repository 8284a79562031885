//! Comments on an item, and links from it to things outside.

use serde::{Deserialize, Serialize};

use super::{check_batch, guard, keep_lease_recorded};
use crate::access::{Needs, Profile, REMOVES, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{CommentId, Fence, ItemId, ItemRef, Link, LinkId, Name, Text, Timestamp, Title, Url};
use crate::store::{Around, ProjectRef, Scope, Slice};

/// A link to be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of Link")]
pub struct NewLink {
    pub kind: Name,
    pub reference: Name,
    pub url: Url,
    pub title: Option<Title>,
}

impl NewLink {
    /// What a link that is there leads to, whatever it is called.
    fn like(link: &Link) -> Self {
        Self { kind: link.kind.clone(), reference: link.reference.clone(), url: link.url.clone(), title: None }
    }

    /// The link on an item; its id and its time are the unit's to give.
    fn on(&self, item: ItemId, by: Name) -> Link {
        Link {
            id: LinkId(ulid::Ulid::nil()),
            item,
            kind: self.kind.clone(),
            reference: self.reference.clone(),
            url: self.url.clone(),
            title: self.title.clone(),
            by,
            created_at: Timestamp::from_millis(0),
        }
    }
}

/// Adds a comment and links to an item.
#[derive(Clone, Debug, Serialize)]
pub struct Remark {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// A comment.
    pub comment: Option<Text>,
    /// Links.
    pub links: Vec<NewLink>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
}

/// What was added.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remarked {
    /// The item.
    pub item: ItemId,
    /// The comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
    /// The links, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkId>,
}

impl Command for Remark {
    type Output = Remarked;
    const NAME: &'static str = "remark";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { links: !self.links.is_empty(), ..Around::default() };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Remarked>, Error> {
        if self.comment.is_none() && self.links.is_empty() {
            return Err(Error::validation(Reason::TooFew, "a comment or a link is needed"));
        }
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        // Whoever may see an item may speak of it; a stale fence still says that the caller is mistaken.
        if self.fence.is_some() {
            guard(&draft, item, None, self.fence)?;
        }
        let id = item.id;
        let (comment, links) = add(&mut draft, id, self.comment.as_ref(), &self.links)?;
        keep_lease_recorded(&mut draft, id, None)?;
        Ok(Decision::done(draft.finish(), Remarked { item: id, comment, links }))
    }
}

/// Adds a comment and links; the links of the item must be shown where any are added.
pub(super) fn add(
    draft: &mut Draft<'_>,
    id: ItemId,
    comment: Option<&Text>,
    links: &[NewLink],
) -> Result<(Option<CommentId>, Vec<LinkId>), Error> {
    let author = draft.call.actor()?.clone();
    if comment.is_some_and(Text::is_blank) {
        return Err(Error::validation(Reason::Blank, "must not be blank").at("comment"));
    }
    let comment = comment.map(|body| draft.add_comment(id, body.clone(), author.clone(), None));
    let there: Vec<&Link> = draft.seen.links.values().filter(|link| link.item == id).collect();
    if there.len() + links.len() > limits::LINKS {
        let message = format!("an item may have at most {} links", limits::LINKS);
        return Err(Error::validation(Reason::TooMany, message).at("links"));
    }
    let mut known: Vec<(LinkId, NewLink)> = there.iter().map(|link| (link.id, NewLink::like(link))).collect();
    let mut added = Vec::with_capacity(links.len());
    for new in links {
        // What is linked already is linked, whatever it is called.
        let plain = NewLink { title: None, ..new.clone() };
        let there = known.iter().find(|(_, link)| *link == plain).map(|(id, _)| *id);
        let id = there.unwrap_or_else(|| draft.add_link(new.on(id, author.clone()), None));
        known.push((id, plain));
        added.push(id);
    }
    Ok((comment, added))
}

/// Removes links.
#[derive(Clone, Debug, Serialize)]
pub struct RemoveLinks {
    /// The links.
    pub links: Vec<LinkId>,
    /// The fence of the caller's claim on the item of each link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
}

/// What was removed.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinksRemoved {
    /// The links that were there.
    pub removed: Vec<LinkId>,
}

impl Command for RemoveLinks {
    type Output = LinksRemoved;
    const NAME: &'static str = "remove-links";
    const NEEDS: Needs = Needs::new(REMOVES, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { link_ids: self.links.clone(), ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<LinksRemoved>, Error> {
        check_batch("links", self.links.len(), call.access.limits.batch)?;
        let mut draft = Draft::new(call, seen);
        for id in &self.links {
            let Some(item) = seen.links.get(id).and_then(|link| seen.items.get(&link.item)) else {
                return Err(Error::not_found(format!("no link \"{id}\"")));
            };
            guard(&draft, item, None, self.fence)?;
        }
        let removed = self.links.iter().copied().filter(|id| draft.remove_link(*id, None)).collect();
        Ok(Decision::done(draft.finish(), LinksRemoved { removed }))
    }
}
