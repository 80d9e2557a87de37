//! One bench: its rows go through criterion, for the distributions and plots, and into the table of ratios.

use std::time::Duration;

use criterion::Criterion;

use super::Placement;
use super::contest::{self, Contestant, Effort, Measure};
use super::data;
use super::place;
use super::table::{Aim, Table};

/// Set to anything: few turns, no plots; says whether all works and what the ratios are about.
const QUICK: &str = "AXLR_BENCH_QUICK";

/// A bench that runs.
pub(crate) struct Suite {
    name: &'static str,
    criterion: Criterion,
    filter: Option<String>,
    is_quick: bool,
    table: Table,
}

impl Suite {
    /// `None` when this is no `cargo bench`: `cargo test --all-targets` runs benches too.
    pub(crate) fn start(name: &'static str) -> Option<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        if !arguments.iter().any(|argument| argument == "--bench") {
            return None;
        }
        place::free();
        let is_quick = std::env::var_os(QUICK).is_some();
        let criterion = Criterion::default().configure_from_args();
        let criterion = if is_quick { criterion.without_plots() } else { criterion };
        let filter = arguments.into_iter().find(|argument| !argument.starts_with('-'));
        Some(Self { name, criterion, filter, is_quick, table: Table::default() })
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// Whether a group of rows was asked for: `cargo bench --bench NAME -- GROUP`.
    pub(crate) fn wants(&self, group: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| group.contains(filter.as_str()))
    }

    /// Lets the contestants do alternating turns, then hands each to criterion.
    pub(crate) fn contest<const N: usize>(
        &mut self,
        group: &str,
        effort: Effort,
        mut contestants: [Contestant<'_>; N],
    ) -> [Measure; N] {
        let turns = if self.is_quick { effort.turns.div_ceil(6).max(3) } else { effort.turns };
        let measures = contest::alternate(&mut contestants, Effort { turns, ..effort });
        self.plot(group, &mut contestants);
        std::array::from_fn(|index| measures[index])
    }

    fn plot(&mut self, group: &str, contestants: &mut [Contestant<'_>]) {
        let mut group = self.criterion.benchmark_group(group.replace('/', " "));
        let (samples, warm_up, measurement) = if self.is_quick { (10, 50, 200) } else { (40, 300, 1_500) };
        group
            .sample_size(samples)
            .nresamples(5_000)
            .warm_up_time(Duration::from_millis(warm_up))
            .measurement_time(Duration::from_millis(measurement));
        for contestant in contestants {
            let name = contestant.name;
            group.bench_function(name, |bencher| bencher.iter_custom(|count| contestant.total(count)));
        }
        group.finish();
    }

    /// A row of the table.
    pub(crate) fn row(
        &mut self,
        what: &str,
        placement: Placement,
        ours: &Measure,
        yardstick: Option<&Measure>,
        aim: Aim,
    ) {
        self.table.time(what, placement, ours, yardstick, aim);
    }

    /// A row of the table about memory.
    pub(crate) fn bytes(&mut self, what: &str, ours: [u64; 2], aim: Aim) {
        self.table.bytes(what, ours, aim);
    }

    /// A row that says why it has no number.
    pub(crate) fn left_out(&mut self, what: &str, why: &str) {
        self.table.left_out(what, why);
    }

    /// Prints the table.
    pub(crate) fn finish(self) {
        self.criterion.final_summary();
        self.table.print(&data::folder().join(format!("{}.md", self.name)));
    }
}
