//! The walk as list and search see it: with the ignore files applied.

use crate::cancel::Cancel;
use crate::tools::check::fault_at;
use crate::tools::ignored::{IgnoreRules, Spot};
use crate::tools::{Error, Kind};
use crate::workspace::walk::{Place, Walk};
use crate::workspace::{self, Scope, Workspace};

/// A walk below a scope, and the ignore rules that hold where it is.
#[derive(Debug)]
pub(super) struct Tour<'c> {
    /// The walk itself; [`Tour::enter`] stands in for the walk's own.
    pub(super) walk: Walk,
    rules: Option<IgnoreRules>,
    cancel: &'c Cancel,
}

/// What is toured, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan<'p> {
    pub(super) scope: &'p Scope,
    /// Whether the workspace's ignore files are honoured.
    pub(super) ignore_files: bool,
    /// No more entries than this are looked at.
    pub(super) most: u64,
}

impl<'c> Tour<'c> {
    /// Begins below a place that is a directory.
    ///
    /// # Errors
    /// When it can't be read.
    pub(super) fn begin(
        workspace: &Workspace,
        place: &Place,
        plan: Plan<'_>,
        cancel: &'c Cancel,
    ) -> Result<Self, Error> {
        let path = plan.scope.as_str();
        let at_scope = |error| fault_at(path, error);
        let stop = || cancel.is_cancelled();
        let base = place.directory.open_directory(place.name.as_bytes()).map_err(at_scope)?;
        let walk = Walk::new(base, path, plan.most, &stop).map_err(at_scope)?;
        let rules = match plan.ignore_files {
            false => None,
            true => Some(IgnoreRules::above(workspace, plan.scope, &stop).map_err(at_scope)?),
        };
        let mut tour = Self { walk, rules, cancel };
        tour.read_rules().map_err(at_scope)?;
        Ok(tour)
    }

    /// Goes below the current entry.
    ///
    /// # Errors
    /// As [`Walk::enter`].
    pub(super) fn enter(&mut self) -> Result<(), workspace::Error> {
        let cancel = self.cancel;
        self.walk.enter(&|| cancel.is_cancelled())?;
        self.read_rules()
    }

    /// Whether the ignore files leave the current entry out.
    pub(super) fn ignores(&mut self, is_dir: bool) -> bool {
        let Some(rules) = &mut self.rules else { return false };
        rules.leave_to(self.walk.depth());
        rules.ignores(self.walk.path(), is_dir)
    }

    fn read_rules(&mut self) -> Result<(), workspace::Error> {
        let Some(rules) = &mut self.rules else { return Ok(()) };
        let spot = Spot { depth: self.walk.depth(), prefix: self.walk.prefix() };
        rules.leave_to(spot.depth - 1);
        let cancel = self.cancel;
        let directory = self.walk.directory()?;
        rules.enter(&directory, spot, |name| self.walk.has(name), &|| cancel.is_cancelled());
        Ok(())
    }
}

/// What list and search answer when their cancellation was seen.
pub(super) fn cancelled() -> Error {
    Error::new(Kind::Cancelled, "cancelled before the walk was done")
}
