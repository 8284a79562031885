//! Short words for briefs, evidence, questions, and the beginning and end of work.

use docket_core::Error;
use docket_core::command::{
    Ask, Asked, Begin, Begun, BriefSet, BriefText, Change, ClaimNext, Finish, Finished, NewCriterion, NewLink, Offer,
    Proof, SetBrief, Verified, Verify, Wanted,
};
use docket_core::model::{About, Authority, CriterionId, Evidence, ItemId, Text, Url};
use docket_core::testing::{World, name};

use crate::scene::Scene;

pub(crate) fn text(words: &str) -> Text {
    Text::parse(words).expect("a text")
}

pub(crate) fn line(words: &str) -> NewCriterion {
    NewCriterion::saying(text(words))
}

pub(crate) fn humans(words: &str) -> NewCriterion {
    NewCriterion { verifier: Some(Authority::Human), ..line(words) }
}

pub(crate) fn soft(words: &str) -> NewCriterion {
    NewCriterion { hard: Some(false), ..line(words) }
}

impl Scene {
    pub(crate) fn brief(&mut self, item: ItemId, brief: BriefText, replace: bool) -> Result<BriefSet, Error> {
        let call = self.world.call(None);
        let project = World::project();
        let set = SetBrief {
            project,
            item: item.into(),
            brief,
            replace,
            expected_version: None,
            fence: None,
            authority: Authority::Agent,
        };
        self.world.run(&call, &set)
    }

    pub(crate) fn criteria(&mut self, item: ItemId, lines: Vec<NewCriterion>) -> BriefSet {
        let brief = BriefText { acceptance_criteria: Change::Set(lines), ..BriefText::default() };
        self.brief(item, brief, false).expect("a brief")
    }

    pub(crate) fn verify(&mut self, item: ItemId, proofs: &[(u32, bool)], by: Authority) -> Result<Verified, Error> {
        let actor = if by == Authority::Human { None } else { Some("ann") };
        let call = self.world.call(actor);
        let proof = |(id, passed): &(u32, bool)| Proof { criterion: CriterionId(*id), passed: *passed, note: None };
        let proofs = proofs.iter().map(proof).collect();
        let project = World::project();
        self.world.run(&call, &Verify { project, item: item.into(), proofs, authority: by, fence: None })
    }

    /// A check's word, which no command takes: what a run of it leaves.
    pub(crate) fn check_says(&mut self, item: ItemId, number: u32, passed: bool) {
        let at = self.world.now;
        let brief = self.world.briefs.get_mut(&item).expect("a brief");
        let criterion = brief.acceptance_criteria.iter_mut().find(|known| known.id.0 == number).expect("a criterion");
        let about = About::of(&criterion.text);
        let by = docket_core::testing::name("ci");
        criterion.take(Evidence { authority: Authority::Check, passed, note: None, by, at, about });
        let derived = self.world.derived(&self.world.items[&item]);
        self.world.items.get_mut(&item).expect("an item").derived = derived;
    }

    pub(crate) fn ask(&mut self, item: ItemId, actor: &str) -> Result<Asked, Error> {
        let call = self.world.call(Some(actor));
        let ask = Ask {
            project: World::project(),
            item: item.into(),
            text: text("which one?"),
            options: vec![text("this"), text("that")],
            fence: None,
        };
        self.world.run(&call, &ask)
    }

    pub(crate) fn begin(&mut self, item: ItemId, actor: &str) -> Result<Begun, Error> {
        let call = self.world.call(Some(actor));
        self.world.run(&call, &Begin { project: World::project(), item: item.into(), ttl: None })
    }

    pub(crate) fn start_next(&mut self, actor: &str, wanted: Wanted) -> Offer {
        let call = self.world.call(Some(actor));
        let next = ClaimNext { project: World::project(), wanted: Wanted { start: true, ..wanted }, ttl: None };
        self.world.run(&call, &next).expect("an offer")
    }

    pub(crate) fn finish(
        &mut self,
        item: ItemId,
        actor: &str,
        proofs: &[u32],
        preview: bool,
    ) -> Result<Finished, Error> {
        let call = self.world.call(Some(actor));
        let proof = |id: &u32| Proof { criterion: CriterionId(*id), passed: true, note: Some(text("seen")) };
        let finish = Finish {
            learnings: Vec::new(),
            project: World::project(),
            item: item.into(),
            comment: Some(text("done")),
            links: vec![link("abc")],
            proofs: proofs.iter().map(proof).collect(),
            target: None,
            fence: None,
            preview,
        };
        self.world.run(&call, &finish)
    }
}

pub(crate) fn link(reference: &str) -> NewLink {
    let url = Url::parse("https://example.com/c/abc").expect("an address");
    NewLink { kind: name("commit"), reference: name(reference), url, title: None }
}
