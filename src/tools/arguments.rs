//! The argument checks that list and search share.

use axlr_protocol::limits;

use crate::dialect::glob::Glob;
use crate::tools::Error;
use crate::tools::check::{Bound, bounded, quoted};
use crate::workspace::Scope;

/// A number of items, where 0 means the default too.
pub(super) const fn count(default: u64, max: u64) -> Bound {
    Bound { min: 1, max, default, zero_is_default: true, unit: "" }
}

/// `max_bytes` of a page. SPEC §3.5.
pub(super) fn page_bytes(value: Option<i64>) -> Result<u64, Error> {
    let bound = Bound { unit: "byte", ..count(limits::PAGE_DEFAULT_BYTES, limits::PAGE_MAX_BYTES) };
    bounded("max_bytes", value, bound)
}

/// Items to pass over before the page.
pub(super) fn offset(value: Option<i64>) -> Result<u64, Error> {
    let bound = Bound { min: 0, max: i64::MAX.unsigned_abs(), default: 0, zero_is_default: false, unit: "" };
    bounded("offset", value, bound)
}

/// The `path` of a walk; nothing is the workspace.
pub(super) fn scope(path: Option<&str>) -> Result<Scope, Error> {
    let path = path.unwrap_or("");
    Scope::parse(path).map_err(|rule| Error::malformed(format!("path {} {rule}", quoted(path))))
}

/// The `glob` of a walk; an empty one counts as not given.
pub(super) fn glob(glob: Option<&str>) -> Result<Option<Glob>, Error> {
    let glob = glob.unwrap_or("");
    Glob::parse(glob).map_err(|fault| Error::malformed(format!("glob {} {fault}", quoted(glob))))
}
