//! The table that a bench ends with: ours, the yardstick, their ratio in both runs, and what was aimed at.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::{Measure, Placement};

/// What was promised.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim {
    /// At most so many times what the yardstick takes.
    AtMost(f64),
    /// At least so many times the throughput of the yardstick.
    Throughput(f64),
    /// So long at the median, and at the 99th percentile.
    Within { p50: Duration, p99: Option<Duration> },
    /// So many bytes.
    Bytes(u64),
    /// Nothing: the row is there to be read beside another.
    None,
}

/// One line, ready to be shown.
struct Line {
    cells: [String; COLUMNS.len()],
}

const COLUMNS: [&str; 7] = ["what", "placed", "ours", "yardstick", "ratio, two runs", "aim", "met"];

/// The lines so far.
#[derive(Default)]
pub(crate) struct Table {
    lines: Vec<Line>,
}

impl Table {
    /// A duration against that of a yardstick, or against the clock.
    pub(crate) fn time(
        &mut self,
        what: &str,
        placement: Placement,
        ours: &Measure,
        yardstick: Option<&Measure>,
        aim: Aim,
    ) {
        let ratios = yardstick.map(|yardstick| {
            let ratio = |run: usize| ours.p50[run].as_secs_f64() / yardstick.p50[run].as_secs_f64();
            [ratio(0), ratio(1)]
                .map(|ratio| if matches!(aim, Aim::Throughput(_)) { 1.0 / ratio } else { ratio })
        });
        let (aim, is_met) = match aim {
            Aim::AtMost(most) => {
                (format!("≤ {most:.2} x"), ratios.map(|ratios| ratios.iter().all(|ratio| *ratio <= most)))
            }
            Aim::Throughput(least) => (
                format!("≥ {least:.2} x throughput"),
                ratios.map(|ratios| ratios.iter().all(|ratio| *ratio >= least)),
            ),
            Aim::Within { p50, p99 } => (
                match p99 {
                    Some(p99) => format!("{}, p99 {}", shown(p50), shown(p99)),
                    None => shown(p50),
                },
                Some(ours.p50.iter().all(|time| *time <= p50) && p99.is_none_or(|p99| ours.p99 <= p99)),
            ),
            Aim::Bytes(_) | Aim::None => (String::new(), None),
        };
        let p99 = format!("{} / {}, p99 {}", shown(ours.p50[0]), shown(ours.p50[1]), shown(ours.p99));
        self.push(
            what,
            placement.as_str(),
            p99,
            yardstick.map_or(String::new(), |measure| {
                format!("{} / {}", shown(measure.p50[0]), shown(measure.p50[1]))
            }),
            ratios.map_or(String::new(), |[first, second]| format!("{first:.2} / {second:.2}")),
            aim,
            is_met,
        );
    }

    /// A size against a bound, in two runs.
    pub(crate) fn bytes(&mut self, what: &str, ours: [u64; 2], aim: Aim) {
        let (aim, is_met) = match aim {
            Aim::Bytes(most) => (format!("≤ {}", size(most)), Some(ours.iter().all(|bytes| *bytes <= most))),
            _ => (String::new(), None),
        };
        let ours = format!("{} / {}", size(ours[0]), size(ours[1]));
        self.push(what, Placement::Free.as_str(), ours, String::new(), String::new(), aim, is_met);
    }

    /// A row that can't be measured here.
    pub(crate) fn left_out(&mut self, what: &str, why: &str) {
        self.push(what, "", format!("left out: {why}"), String::new(), String::new(), String::new(), None);
    }

    #[expect(clippy::too_many_arguments, reason = "the cells of one line")]
    fn push(
        &mut self,
        what: &str,
        placed: &str,
        ours: String,
        yardstick: String,
        ratio: String,
        aim: String,
        is_met: Option<bool>,
    ) {
        let met = is_met.map_or("", |is_met| if is_met { "yes" } else { "NO" });
        let cells = [what.to_owned(), placed.to_owned(), ours, yardstick, ratio, aim, met.to_owned()];
        self.lines.push(Line { cells });
    }

    /// Prints the table and keeps it in a file.
    #[expect(clippy::print_stdout, reason = "this is what a bench is run for")]
    pub(crate) fn print(&self, file: &Path) {
        let mut text = String::new();
        let heading = Line { cells: COLUMNS.map(str::to_owned) };
        let widths: [usize; COLUMNS.len()] = std::array::from_fn(|column| {
            let lines = self.lines.iter().chain([&heading]);
            lines.map(|line| line.cells[column].chars().count()).max().unwrap_or(0)
        });
        let rule = Line { cells: widths.map(|width| "-".repeat(width)) };
        for line in [&heading, &rule].into_iter().chain(&self.lines) {
            for (cell, width) in line.cells.iter().zip(widths) {
                let _ = write!(text, "| {cell:width$} ");
            }
            text.push_str("|\n");
        }
        println!("\n{text}");
        std::fs::write(file, text).unwrap();
    }
}

fn shown(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    match nanos {
        ..1e3 => format!("{nanos:.0} ns"),
        ..1e5 => format!("{:.1} us", nanos / 1e3),
        ..1e6 => format!("{:.0} us", nanos / 1e3),
        ..1e9 => format!("{:.2} ms", nanos / 1e6),
        _ => format!("{:.2} s", nanos / 1e9),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        ..0x10_0000 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1024.0 / 1024.0),
    }
}
