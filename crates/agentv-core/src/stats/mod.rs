//! Statistics for results: is a difference more than noise, and how sure is a mean?
//!
//! Everything here is a function of its arguments. Where chance is needed it comes from a generator with a seed, so the
//! same data give the same numbers on every machine. Values that are not finite are left out where data come in
//! ([`Clusters::new`], [`sign_flip`]); no function panics on empty or odd data.
//!
//! ```
//! use agentv_core::stats::{Clusters, Level, Resampling, exact_mcnemar, sign_flip};
//!
//! // Five cases, all better by one: as extreme as five coins get, on either side.
//! let resampling = Resampling::default();
//! assert_eq!(sign_flip(&[1.0; 5], Level::alone(0.05), resampling), 2.0 / 32.0);
//! assert_eq!(exact_mcnemar(0, 5), 2.0 / 32.0);
//!
//! let differences = Clusters::new([0.5, 0.0, 1.0].map(|difference| [difference]));
//! assert_eq!(differences.mean(), Some(0.5));
//! ```

mod clusters;
#[cfg(test)]
pub(crate) mod coverage;
mod distribution;
mod interval;
mod level;
mod mcnemar;
mod paired;
mod pass;
mod permutation;
mod power;
mod random;
mod sample;
mod simulation;
mod sums;

pub use clusters::Clusters;
pub(crate) use clusters::middle;
pub(crate) use distribution::normal_below;
pub use distribution::{normal_quantile, student_quantile};
pub use interval::bonett_price;
pub use level::{Level, fewest_cases, holm};
pub use mcnemar::mcnemar_power;
pub use paired::{Tested, exact_mcnemar, sign_flip};
pub use pass::{all_of_k, any_of_k, wilson_interval_of_sample};
pub use random::Random;
pub use sample::PairedSample;
pub use sums::ClusterSums;

use serde::Serialize;

/// What differs by less is equal: 0.3 − 0.2 is not 0.1 for a machine.
pub(crate) const SMALLEST_DIFFERENCE: f64 = 1e-9;

/// The usual confidence of an interval.
pub const CONFIDENCE: f64 = 0.95;

/// Two ends, the lower one first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// How often chance is asked, and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// Random sign flips, where there are too many to try them all.
    pub flips: u32,
    /// At most this many where the p-value is close to the level.
    pub most_flips: u32,
    /// Random draws of cases for an interval.
    pub draws: u32,
    /// Simulated comparisons for the power of a test; with 0 there is no minimum detectable effect.
    pub comparisons: u32,
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { flips: 10_000, most_flips: 1_000_000, draws: 10_000, comparisons: 2000, seed: 0 }
    }
}

/// The mean of all finite values; `None` if there are none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    let (sum, count) = finite.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / float(count))
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts of cases are far below 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}
