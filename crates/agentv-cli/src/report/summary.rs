//! The numbers of a report: those of the records, and what the run says of itself.

use super::Source;
use super::source::Knowledge;
use agentv_core::totals::RecordedTotals;
use agentv_runtime::results_io::ResultsError;
use agentv_wire::{ReportSummary, RunInfo};
use jiff::Timestamp;

/// What a report says of all records. Where some of them turn out to be trials of others, they are read once more.
pub(super) fn summary(
    mut recorded: RecordedTotals,
    source: &Source,
) -> Result<ReportSummary, ResultsError> {
    if recorded.is_mixed() {
        recorded = RecordedTotals::by_case();
        let mut entries = source.entries(Knowledge::Record)?;
        while let Some(entry) = entries.next()? {
            recorded.add(entry.record);
        }
    }
    let info = source.info.as_ref();
    let planned = info.map(|info| info.cases);
    let mut totals = recorded.finish().0.wire(planned);
    // What calls used is not in the records.
    totals.spend = info.and_then(|info| info.totals.as_ref()).and_then(|totals| totals.spend);
    Ok(ReportSummary { planned, totals, wall_ms: info.and_then(wall_ms) })
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are far below 2^52")]
fn wall_ms(info: &RunInfo) -> Option<f64> {
    // Of a run that was resumed it is not known how long it lay.
    if !info.resumed.is_empty() {
        return None;
    }
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let (start, end) = (time(&info.started)?, time(info.ended.as_deref()?)?);
    Some((end.as_millisecond() - start.as_millisecond()).max(0) as f64)
}
