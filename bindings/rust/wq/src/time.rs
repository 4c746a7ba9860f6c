//! Times between Rust and the header: durations and points in time there are 64-bit milliseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds of a duration, rounded up: what is not zero does not become zero, which often has
/// a meaning of its own. What is too long is as long as there is.
pub(crate) fn to_ms(duration: Duration) -> i64 {
    let ms = duration.as_nanos().saturating_add(999_999) / 1_000_000;
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// The same for something that may be left out: 0.
pub(crate) fn opt_ms(duration: Option<Duration>) -> i64 {
    duration.map_or(0, to_ms)
}

/// Milliseconds since 1970. Before that it is negative; exactly then it is 1, since 0 is "none".
pub(crate) fn at_ms(time: Option<SystemTime>) -> i64 {
    let time = match time {
        None => return 0,
        Some(time) => time,
    };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX).max(1),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX).max(1),
    }
}

pub(crate) fn from_ms(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// 0 means none; a time that `SystemTime` can not hold is none as well.
pub(crate) fn from_at_ms(ms: i64) -> Option<SystemTime> {
    match ms {
        0 => None,
        1..=i64::MAX => UNIX_EPOCH.checked_add(Duration::from_millis(ms as u64)),
        _ => UNIX_EPOCH.checked_sub(Duration::from_millis(ms.unsigned_abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_up_and_saturate() {
        for (duration, ms) in [
            (Duration::ZERO, 0),
            (Duration::from_nanos(1), 1),
            (Duration::from_millis(7), 7),
            (Duration::new(1, 1), 1001),
            (Duration::MAX, i64::MAX),
        ] {
            assert_eq!(to_ms(duration), ms, "{:?}", duration);
        }
        assert_eq!(from_ms(-5), Duration::ZERO);
        assert_eq!(from_ms(i64::MAX), Duration::from_millis(i64::MAX as u64));
    }

    #[test]
    fn points_in_time_go_there_and_back() {
        assert_eq!(at_ms(None), 0);
        assert_eq!(from_at_ms(0), None);
        for ms in [1, 1_700_000_000_123, -1, -5_000] {
            assert_eq!(at_ms(from_at_ms(ms)), ms);
        }
        assert_eq!(at_ms(Some(UNIX_EPOCH)), 1);
        let _ = (from_at_ms(i64::MAX), from_at_ms(i64::MIN));
    }
}
