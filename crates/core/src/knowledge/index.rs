//! All vectors of a model as one bit a number: small enough for memory, and quick to look through whole.
//!
//! Two vectors that point the same way agree in most of their signs. The few hundred that agree most with a question are
//! then compared exactly, by the numbers that the store keeps.

use std::collections::{BTreeSet, HashMap};

use crate::limits;
use crate::model::{EntryId, ProjectId};
use crate::store::{Making, Sketch, Visible};

/// The sketches of one generation of vectors.
#[derive(Debug)]
pub struct SketchIndex {
    generation: u64,
    /// How many numbers a vector has; 0 before the first.
    numbers: usize,
    /// The place of the newest that was taken in.
    last: u64,
    rows: Vec<Row>,
    bits: Vec<u64>,
    slots: HashMap<EntryId, usize>,
    /// Most words of 64 bits that are kept.
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    entry: EntryId,
    project: ProjectId,
    place: u64,
}

impl Default for SketchIndex {
    fn default() -> Self {
        Self::of_size(limits::SKETCH_BYTES)
    }
}

impl SketchIndex {
    /// One that keeps at most so many bytes of bits: the newest.
    pub fn of_size(bytes: usize) -> Self {
        Self {
            generation: 0,
            numbers: 0,
            last: 0,
            rows: Vec::new(),
            bits: Vec::new(),
            slots: HashMap::new(),
            most: bytes / 8,
        }
    }

    /// Of which generation it is.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// After which place it knows nothing.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many numbers the vectors have; none before the first.
    pub fn width(&self) -> Option<usize> {
        Some(self.numbers).filter(|numbers| *numbers > 0)
    }

    /// Begins anew with another generation.
    pub fn restart(&mut self, making: &Making) {
        if self.generation < making.generation {
            let most = self.most;
            *self = Self { generation: making.generation, most, ..Self::of_size(0) };
        }
    }

    /// Takes in what was kept since; of two sketches of an entry the one with the later place stays, in whichever order
    /// they come.
    pub fn take(&mut self, making: &Making, sketches: Vec<Sketch>) {
        // Read before another search began anew.
        if making.generation != self.generation {
            return;
        }
        if self.numbers == 0 {
            self.numbers = usize::try_from(making.width).unwrap_or(0);
        }
        let width = self.words();
        for sketch in sketches {
            self.last = self.last.max(sketch.place);
            let words = words_of(&sketch.bits);
            if words.len() != width || width == 0 {
                continue;
            }
            let row = Row { entry: sketch.entry, project: sketch.project, place: sketch.place };
            if let Some(slot) = self.slots.get(&sketch.entry) {
                if self.rows[*slot].place < row.place {
                    self.rows[*slot] = row;
                    self.bits[slot * width..(slot + 1) * width].copy_from_slice(&words);
                }
            } else {
                self.slots.insert(sketch.entry, self.rows.len());
                self.rows.push(row);
                self.bits.extend(words);
            }
        }
        if self.bits.len() > self.most {
            self.shed();
        }
    }

    /// Leaves out entries that turned out to be gone, unless a newer sketch of them has come since.
    pub fn forget(&mut self, entries: &[(EntryId, u64)]) {
        let width = self.words();
        for (entry, place) in entries {
            let Some(slot) = self.slots.get(entry).copied().filter(|slot| self.rows[*slot].place == *place) else {
                continue;
            };
            self.slots.remove(entry);
            let last = self.rows.len() - 1;
            self.rows.swap_remove(slot);
            let (from, to) = (last * width, slot * width);
            self.bits.copy_within(from..from + width, to);
            self.bits.truncate(from);
            if let Some(moved) = self.rows.get(slot) {
                self.slots.insert(moved.entry, slot);
            }
        }
    }

    /// The entries whose bits agree most with these, each with its place: of projects that may be seen, among these where
    /// they are named, at most so many, in no order.
    pub fn nearest(
        &self,
        bits: &[u8],
        visible: &Visible,
        among: Option<&BTreeSet<EntryId>>,
        limit: usize,
    ) -> Vec<(EntryId, u64)> {
        let wanted = words_of(bits);
        let width = self.words();
        if wanted.len() != width || width == 0 {
            return Vec::new();
        }
        let seen = |row: &Row| {
            visible.as_ref().is_none_or(|projects| projects.contains(&row.project))
                && among.is_none_or(|entries| entries.contains(&row.entry))
        };
        let mut found: Vec<(u32, usize)> = Vec::with_capacity(self.rows.len());
        for (slot, (bits, row)) in self.bits.chunks_exact(width).zip(&self.rows).enumerate() {
            if seen(row) {
                found.push((bits.iter().zip(&wanted).map(|(a, b)| (a ^ b).count_ones()).sum(), slot));
            }
        }
        if found.len() > limit && limit > 0 {
            found.select_nth_unstable(limit - 1);
        }
        found.truncate(limit);
        found.into_iter().map(|(_, slot)| (self.rows[slot].entry, self.rows[slot].place)).collect()
    }

    /// How many words of 64 bits each takes.
    fn words(&self) -> usize {
        self.numbers.div_ceil(64)
    }

    /// Leaves out the oldest, down to nine tenths of what may be kept: so it is not done for each new one.
    fn shed(&mut self) {
        let keep = self.most / 10 * 9 / self.words().max(1);
        let mut places: Vec<u64> = self.rows.iter().map(|row| row.place).collect();
        places.sort_unstable_by(|a, b| b.cmp(a));
        let Some(oldest) = places.get(keep) else { return };
        let old: Vec<(EntryId, u64)> =
            self.rows.iter().filter(|row| row.place <= *oldest).map(|row| (row.entry, row.place)).collect();
        self.forget(&old);
        tracing::warn!(left_out = old.len(), "too many vectors for memory: the oldest are not searched");
    }
}

fn words_of(bits: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
    bits.chunks(8).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::bits_of;
    use ulid::Ulid;
    use uuid::Uuid;

    fn making(generation: u64, width: u64) -> Making {
        Making { generation, width, ..Making::default() }
    }

    fn index(width: u64) -> SketchIndex {
        let mut index = SketchIndex::default();
        index.restart(&making(1, width));
        index
    }

    fn id(number: u128) -> EntryId {
        EntryId(Ulid(number))
    }

    fn sketch(number: u128, place: u64, project: u128, numbers: &[f32]) -> Sketch {
        let project = ProjectId::from_uuid(Uuid::from_u128(project));
        Sketch { place, entry: id(number), project, bits: bits_of(numbers) }
    }

    fn find(index: &SketchIndex, numbers: &[f32], visible: &Visible, limit: usize) -> BTreeSet<u128> {
        index.nearest(&bits_of(numbers), visible, None, limit).iter().map(|(entry, _)| entry.0.0).collect()
    }

    fn stripes() -> Vec<f32> {
        (0..100).map(|place| if place % 2 == 0 { 1.0 } else { -1.0 }).collect()
    }

    #[test]
    fn those_that_agree_most_are_found() {
        let mut index = index(100);
        let first = stripes();
        let near: Vec<f32> = first.iter().enumerate().map(|(place, n)| if place < 5 { -n } else { *n }).collect();
        let far: Vec<f32> = first.iter().map(|number| -number).collect();
        index.take(&making(1, 100), vec![sketch(1, 1, 1, &far), sketch(2, 2, 1, &near), sketch(3, 3, 2, &first)]);
        assert_eq!(find(&index, &first, &None, 2), [2, 3].into());
        assert_eq!(find(&index, &first, &None, 1), [3].into());
        let mine: Visible = Some([ProjectId::from_uuid(Uuid::from_u128(1))].into());
        assert_eq!(find(&index, &first, &mine, 1), [2].into(), "what may not be seen takes no place");
        let among = index.nearest(&bits_of(&first), &None, Some(&[id(1)].into()), 5);
        assert_eq!(among, [(id(1), 1)], "of those that are named alone");
        assert_eq!(index.last(), 3);
        index.forget(&[(id(3), 3)]);
        assert_eq!(find(&index, &first, &None, 1), [2].into());
        index.take(&making(1, 100), vec![sketch(1, 4, 1, &first)]);
        assert_eq!(find(&index, &first, &None, 1), [1].into(), "a newer one takes the place of the older");
        assert_eq!((index.len(), index.last()), (2, 4));
        assert!(find(&index, &[1.0; 9], &None, 9).is_empty(), "another length is not comparable");
    }

    #[test]
    fn the_later_sketch_stays_in_whichever_order_they_come() {
        let mut index = index(100);
        let first = stripes();
        let far: Vec<f32> = first.iter().map(|number| -number).collect();
        index.take(&making(1, 100), vec![sketch(1, 9, 1, &first), sketch(2, 3, 1, &far)]);
        index.take(&making(1, 100), vec![sketch(1, 5, 1, &far)]);
        assert_eq!(find(&index, &first, &None, 1), [1].into(), "two searches read at once, and the slower came last");
        index.forget(&[(id(1), 5)]);
        assert_eq!(index.len(), 2, "what is gone is the older one");
        index.forget(&[(id(1), 9)]);
        assert_eq!(index.len(), 1);
    }

    #[test]
    fn another_generation_begins_anew_and_late_rows_of_the_old_one_are_left_out() {
        let mut index = index(100);
        index.take(&making(1, 100), vec![sketch(1, 9, 1, &stripes())]);
        index.restart(&making(2, 0));
        index.take(&making(1, 100), vec![sketch(1, 9, 1, &stripes())]);
        assert_eq!((index.len(), index.last(), index.width()), (0, 0, None));
        index.take(&making(2, 8), vec![sketch(1, 10, 1, &[1.0; 8])]);
        assert_eq!((index.len(), index.last(), index.width()), (1, 10, Some(8)));
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_go_first() {
        let mut index = SketchIndex::of_size(8 * 20);
        index.restart(&making(1, 8));
        for place in 1..=200_u64 {
            index.take(&making(1, 8), vec![sketch(u128::from(place), place, 1, &[1.0; 8])]);
            assert!(index.len() <= 20, "{}", index.len());
        }
        let left = find(&index, &[1.0; 8], &None, 99);
        assert!(left.len() >= 18 && left.iter().all(|number| *number > 180), "{left:?}");
    }
}
