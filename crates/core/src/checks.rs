//! What checks mean: who lets them run, how they stand when the work tree is known, and which of them an item still owes.

use crate::error::UnshownCheck;
use crate::model::{Check, CheckKind, CheckStanding, Timestamp, Tree};

/// What may be run though nobody has approved it, because the operator says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Allowed {
    /// Nothing.
    #[default]
    Nothing,
    /// Exactly these command lines.
    These(Vec<String>),
    /// Everything.
    Everything,
}

impl Allowed {
    /// Whether this may be run without anybody's approval. To ask about a pull request is not to run anything.
    pub fn lets(&self, kind: &CheckKind) -> bool {
        match (kind, self) {
            (CheckKind::PullRequest { .. }, _) | (CheckKind::Command { .. }, Self::Everything) => true,
            (CheckKind::Command { cmd, .. }, Self::These(lines)) => lines.iter().any(|line| line == cmd.as_str()),
            (CheckKind::Command { .. }, Self::Nothing) | (CheckKind::Manual, _) => false,
        }
    }

    /// The checks that nobody lets run: by their places.
    pub fn barred(&self, checks: &[Check]) -> Vec<usize> {
        let barred = |check: &Check| check.kind.is_runnable() && !check.is_approved() && !self.lets(&check.kind);
        checks.iter().enumerate().filter(|(_, check)| barred(check)).map(|(index, _)| index).collect()
    }
}

/// What somebody saw who can see the work tree, when it was about to matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The work tree; none where there is no git.
    pub tree: Option<Tree>,
    /// When looking began: what was run since then was run of what is there.
    pub since: Timestamp,
}

/// How a check stands for who knows the work tree, or does not. Whatever was run of a tree counts for that tree alone; where
/// nobody has looked, it counts no more, and neither does what was run where there is no git, unless just now. A fact outside
/// has no tree, and a person's word has one only where the person could see it. What failed without a tree has failed. What passed and
/// changed its tree shows nothing of any.
pub fn standing(check: &Check, look: Option<&Look>) -> CheckStanding {
    let stands = check.standing();
    let Some(result) = check.current() else { return stands };
    let counts = match (&check.kind, &result.tree, look) {
        (CheckKind::PullRequest { .. }, ..) | (CheckKind::Manual, None, _) => true,
        (_, Some(tree), Some(look)) => look.tree.as_ref() == Some(tree) || tree_ignored(),
        // That nobody knows a tree is not the same as that there is none: whoever asks a runner elsewhere is told of no tree where
        // it changed.
        (_, None, Some(look)) => {
            !result.passed || (look.tree.is_none() && !result.tree_changed && result.at >= look.since)
        }
        (_, Some(_), None) => return CheckStanding::Unseen,
        (_, None, None) => !result.passed,
    };
    if counts { stands } else { CheckStanding::Stale }
}

/// A bug that a test of evidence must catch: the tree is not compared.
fn tree_ignored() -> bool {
    crate::plant::planted(crate::plant::Bug::TreeNotCompared)
}

/// The checks that do not hold, in the order of the list.
pub fn unshown(checks: &[Check], look: Option<&Look>) -> Vec<UnshownCheck> {
    let each = checks.iter().enumerate().map(|(index, check)| {
        let status = standing(check, look);
        let dated = matches!(status, CheckStanding::Stale | CheckStanding::Unseen);
        UnshownCheck {
            index,
            desc: check.desc.clone(),
            status,
            manual: !check.kind.is_runnable(),
            tree: check.current().filter(|_| dated).and_then(|result| result.tree.clone()),
        }
    });
    each.filter(|check| check.status != CheckStanding::Pass).collect()
}

/// How a check stands, in words: with why, where its result does not count.
pub fn in_words(check: &Check, status: CheckStanding) -> String {
    let made_on = check.current().and_then(|result| result.tree.as_ref()).map(Tree::short);
    match (status, check.current().is_some(), made_on) {
        (CheckStanding::Stale, false, _) => "stale: the check says something else now".to_owned(),
        (CheckStanding::Stale, true, Some(tree)) => format!("stale: made on work tree {tree}, and it is another now"),
        (CheckStanding::Stale, true, None) => {
            "stale: it was made on no work tree that is known, or changed the one it ran on".to_owned()
        }
        (CheckStanding::Unseen, _, Some(tree)) => {
            format!("unseen: made on work tree {tree}, and nobody has looked whether it is the same")
        }
        (status, ..) => status.as_str().to_owned(),
    }
}
