//! Samples and what is told of them. Medians, because the machine is noisy.

use std::time::Duration;

/// Numbers of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Adds a time, in seconds.
    pub(crate) fn time(&mut self, time: Duration) {
        self.push(time.as_secs_f64());
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// The middle one; not a number when there are none, which holds no bound.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            length if length % 2 == 1 => sorted[length / 2],
            length => f64::midpoint(sorted[length / 2 - 1], sorted[length / 2]),
        }
    }
}

/// So many in this time, a second.
pub(crate) fn rate(count: usize, time: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let of = |values: &[f64]| Samples(values.to_vec()).median();
        assert!(of(&[]).is_nan());
        assert!((of(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((of(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
    }
}
