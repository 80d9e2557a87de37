//! Numbers and tables as people read them.

#[cfg(test)]
mod tests;

/// `1,234,567`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 file`, `2 files`.
pub(super) fn counted(number: u64, noun: &str, plural: &str) -> String {
    format!("{} {}", count(number), if number == 1 { noun } else { plural })
}

/// `12 B`, `3.4 KiB`, `120 MiB`.
pub(super) fn bytes(number: u64) -> String {
    let mut value = number as f64;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    // What would be shown as 1024 belongs to the next unit.
    while value >= 1023.5
        && let Some(next) = units.next()
    {
        (value, unit) = (value / 1024.0, next);
    }
    if unit == "B" || value >= 99.95 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// `7 µs`, `1.2 ms`, `35 s`.
pub(super) fn microseconds(number: u64) -> String {
    let value = number as f64;
    match number {
        0..1_000 => format!("{number} µs"),
        1_000..100_000 => format!("{:.1} ms", value / 1e3),
        100_000..1_000_000 => format!("{:.0} ms", value / 1e3),
        1_000_000..100_000_000 => format!("{:.1} s", value / 1e6),
        _ => format!("{:.0} s", value / 1e6),
    }
}

/// `45 s`, `12 min 3 s`, `5 h 12 min`, `3 d 4 h`.
pub(super) fn uptime(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// On which side a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Rows in aligned columns, two spaces between them. The first row is as any other.
pub(super) fn table(sides: &[Side], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..sides.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(sides).zip(&widths).map(|((cell, side), width)| match side {
            Side::Left => format!("{cell:<width$}"),
            Side::Right => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
