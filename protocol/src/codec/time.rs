//! Points in time on the wire: UTC, RFC 3339, nanoseconds.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

/// Serialized as `2026-01-02T03:04:05.123456789Z`. A clock before 1970 reads as 1970, one past 9999 as the end of 9999.
pub(super) struct Timestamp(pub(super) SystemTime);

/// The first second of the year 10000, which RFC 3339 can't write.
const END_SECONDS: u64 = 253_402_300_800;

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text();
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl Timestamp {
    fn text(&self) -> [u8; 30] {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = since.as_secs().min(END_SECONDS - 1);
        let (year, month, day) = date(seconds / 86_400);
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        digits(&mut text[0..4], year);
        digits(&mut text[5..7], month);
        digits(&mut text[8..10], day);
        digits(&mut text[11..13], seconds / 3_600 % 24);
        digits(&mut text[14..16], seconds / 60 % 60);
        digits(&mut text[17..19], seconds % 60);
        digits(&mut text[20..29], u64::from(since.subsec_nanos()));
        text
    }
}

/// Fills the places with the last decimal digits of the number.
fn digits(places: &mut [u8], mut number: u64) {
    for place in places.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Year, month and day of the Gregorian calendar, so many days after 1970-01-01.
///
/// Years are counted from 1 March, which puts the leap day at the end of a year: then 400 years have 146 097 days, and the
/// months since March begin at day (153 m + 2) / 5.
fn date(days: u64) -> (u64, u64, u64) {
    // From 0000-03-01 to 1970-01-01.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    (year, month, day)
}
