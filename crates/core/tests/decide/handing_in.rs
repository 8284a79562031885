//! Finishing hands work in that has checks on it, as handing it in does.

use docket_core::command::{Finish, TakeRun};
use docket_core::model::{ItemId, Role, RunEnd, Taking, VerificationKind};
use docket_core::testing::{World, name};
use docket_core::workflow::Target;

use crate::checks::{BEFORE, checked, command, end, manual, text};

#[test]
fn finishing_hands_in_what_has_checks_unless_it_is_said_where_it_goes() {
    let finish = |item: ItemId, target: Option<Target>, preview: bool| Finish {
        project: World::project(),
        item: item.into(),
        comment: Some(text("did it")),
        links: Vec::new(),
        proofs: Vec::new(),
        learnings: Vec::new(),
        target,
        fence: None,
        preview,
    };
    for (checks, verification) in
        [(vec![manual("seen")], VerificationKind::Manual), (vec![command("one")], VerificationKind::Command)]
    {
        let (mut scene, item) = checked(checks);
        let call = scene.world.call(None);
        let told = scene.world.run(&call, &finish(item, None, true)).expect("a preview").handed_in.expect("handed in");
        assert_eq!((told.verification, told.runs.len()), (verification, 0), "nothing is ordered by it");
        assert_eq!(scene.get(item).role, Role::Work);
        let done = scene.world.run(&call, &finish(item, None, false)).expect("finished");
        assert_eq!(
            done.moved.as_ref().map(|moved| (moved.to_role, moved.version)),
            Some((Role::Review, scene.get(item).version))
        );
        let pending = done.handed_in.expect("handed in");
        assert_eq!(
            (pending.verification, pending.runs.len()),
            (verification, usize::from(verification == VerificationKind::Command))
        );
        if let Some(run) = pending.runs.first().cloned() {
            assert_eq!(pending.unapproved, [0], "nobody lets it run yet");
            let allowed = vec![run.definition.clone()];
            let take = TakeRun { run: run.id, runner: name("here"), allowed, taking: Taking::Asked };
            scene.world.run(&call, &take).expect("taken");
            assert!(end(&mut scene, &run, RunEnd::Exited { code: 0 }, Some(BEFORE)).expect("ended"), "it closes");
            assert_eq!(scene.get(item).role, Role::Terminal);
        }
    }
    // Whoever says where it goes moves it, and whoever has no checks hands nothing in.
    let (mut scene, item) = checked(vec![command("one")]);
    let call = scene.world.call(None);
    let review = Target::Status(name("in_review"));
    assert_eq!(scene.world.run(&call, &finish(item, Some(review), false)).expect("moved").handed_in, None);
    let (mut scene, item) = checked(vec![]);
    let call = scene.world.call(None);
    assert_eq!(scene.world.run(&call, &finish(item, None, false)).expect("finished").handed_in, None);
    assert_eq!(scene.get(item).role, Role::Review);
}
