//! The time, as records and names show it.

use jiff::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// Now.
pub fn now() -> Timestamp {
    timestamp(SystemTime::now())
}

/// A moment. No timestamp is later than the year 9999, while a clock may be: such a moment counts as the last one.
pub fn timestamp(time: SystemTime) -> Timestamp {
    let nearest = if time < UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_clock_beyond_all_timestamps_is_shown() {
        // The year 10000 and 20000.
        for seconds in [253_402_300_800, 568_971_820_800] {
            let late = timestamp(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(format!("{late:.3}"), "9999-12-30T22:00:00.999Z");
        }
        let moment = timestamp(UNIX_EPOCH + Duration::from_millis(1500));
        assert_eq!(format!("{moment:.3}"), "1970-01-01T00:00:01.500Z");
    }
}
