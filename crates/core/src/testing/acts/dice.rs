//! What is done is chosen here, by a seed.

use super::{AGENTS, Act, KEYS};
use crate::model::{Role, Trigger};

/// A small, seeded source of choices: the same seed makes the same acts everywhere.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides.max(1)
    }

    fn index(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll(sides as u64)).unwrap_or(0)
    }

    fn small(&mut self, sides: u8) -> u8 {
        u8::try_from(self.roll(u64::from(sides))).unwrap_or(0)
    }

    fn flip(&mut self) -> bool {
        self.roll(2) == 1
    }
}

impl Act {
    /// One act.
    pub fn random(dice: &mut Dice) -> Self {
        let (item, who) = (dice.index(12), dice.index(AGENTS.len()));
        let trigger = Trigger::USER[dice.index(Trigger::USER.len())];
        match dice.roll(64) {
            0..=4 => Self::Create {
                parent: dice.flip().then(|| dice.index(12)),
                priority: u8::try_from(dice.roll(3)).unwrap_or(0),
                complexity: i64::try_from(dice.roll(10)).unwrap_or(0) + 1,
                typed: dice.flip(),
                role: (dice.roll(10) == 0).then(|| Role::ALL[dice.index(5)]),
            },
            5 => Self::Reparent { item, parent: dice.flip().then(|| dice.index(12)) },
            6 if dice.flip() => {
                Self::ReparentMany { moves: vec![(item, dice.index(12)), (dice.index(12), dice.index(12))] }
            }
            6 => Self::Rename { item, who },
            7..=12 => Self::Move { item, trigger, who },
            13 | 14 => Self::MoveTo { item, status: dice.index(9), who },
            15 => Self::MoveMany { items: vec![item, dice.index(12), dice.index(12)], trigger },
            16 | 17 => Self::Claim { item, ttl: dice.flip(), who },
            18 | 19 => Self::ClaimNext { who },
            20 => Self::Release { item, who },
            21..=23 => {
                let phase = (dice.roll(3) == 0).then(|| Role::ALL[dice.index(5)]);
                Self::Note { item, key: dice.index(KEYS.len()), phase, blank: dice.flip(), who }
            }
            24 => Self::Unnote { item },
            25..=27 => Self::Link { from: item, to: dice.index(12), kind: dice.index(6), at: dice.index(5) },
            28 => Self::Unlink { item },
            29 => Self::Remove { item, recursive: dice.flip() },
            30 => Self::CloseTree { item, cancel: dice.flip() },
            31..=33 => {
                let (criteria, replace, human) = (dice.small(8), dice.flip(), dice.roll(5) == 0);
                Self::Brief { item, criteria, replace, human, who }
            }
            34..=37 => {
                let criterion = u32::try_from(dice.roll(4)).unwrap_or(0) + 1;
                Self::Verify { item, criterion, passed: dice.roll(4) > 0, human: dice.flip(), who }
            }
            38 => Self::Ask { item, who },
            39 => Self::Answer { item, withdraw: dice.flip() },
            40 => Self::Flag { item, on: dice.flip() },
            41 => Self::Remark { item, who },
            42 if dice.flip() => Self::Begin { item, who },
            42 => Self::StartNext { who },
            43 => Self::Finish { item, passed: dice.flip(), preview: dice.roll(3) == 0, who },
            44 => Self::CloseWhole { item, cancel: dice.flip() },
            45..=48 => Self::BeginSession { item, who },
            49..=51 => {
                Self::Heartbeat { item, percent: dice.flip().then(|| u8::try_from(dice.roll(101)).unwrap_or(0)), who }
            }
            52 => Self::EndSession { item, cancel: dice.flip(), who },
            53..=62 => Self::random_check(dice, item, who),
            _ => Self::Pass { seconds: u32::try_from(dice.roll(1200)).unwrap_or(0) + 1 },
        }
    }

    /// One about checks.
    fn random_check(dice: &mut Dice, item: usize, who: usize) -> Self {
        let trigger = Trigger::USER[dice.index(Trigger::USER.len())];
        match dice.roll(10) {
            0 => Self::CreateWith { criteria: dice.small(8), checks: dice.small(8), role: None },
            1 | 2 => Self::SetChecks { item, checks: dice.small(16), add: dice.flip(), human: dice.flip(), who },
            3 => Self::ApproveChecks { item, who },
            4 => Self::Attest { item, check: dice.index(3), passed: dice.roll(4) > 0, who },
            5 => Self::Submit { item, who },
            6 => Self::OrderRuns { item, started: dice.flip(), who },
            7 => Self::TakeRun { item },
            8 if dice.roll(4) == 0 => Self::CancelRun { item },
            8 => Self::MoveSeeing { item, trigger, tree: dice.small(3) },
            _ => Self::EndRun { item, end: dice.small(9), tree: dice.small(3), back: dice.flip() },
        }
    }
}
