use super::*;

#[test]
fn numbers_read_well() {
    let counts = [0, 7, 999, 1_000, 12_345, 1_234_567].map(count);
    assert_eq!(counts, ["0", "7", "999", "1,000", "12,345", "1,234,567"]);
    assert_eq!([1, 2].map(|number| counted(number, "match", "matches")), ["1 match", "2 matches"]);
    let sizes = [0, 1_023, 1_024, 1_536, 102_400, 1_048_575, 1_048_576, 5_368_709_120].map(bytes);
    assert_eq!(sizes, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "100 KiB", "1.0 MiB", "1.0 MiB", "5.0 GiB"]);
    let times = [0, 999, 1_000, 99_999, 100_000, 2_500_000, 300_000_000].map(microseconds);
    assert_eq!(times, ["0 µs", "999 µs", "1.0 ms", "100.0 ms", "100 ms", "2.5 s", "300 s"]);
    let uptimes = [999, 45_000, 723_000, 18_720_000, 273_600_000].map(uptime);
    assert_eq!(uptimes, ["0 s", "45 s", "12 min 3 s", "5 h 12 min", "3 d 4 h"]);
}

#[test]
fn columns_are_aligned() {
    let rows =
        [["name", "count"], ["α", "1"], ["longer", "1,000"]].map(|row| row.map(str::to_owned).to_vec());
    let lines = table(&[Side::Left, Side::Right], &rows);
    assert_eq!(lines, ["name    count", "α           1", "longer  1,000"]);
}
