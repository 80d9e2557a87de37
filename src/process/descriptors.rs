//! The descriptor limit of the daemon, which its children do not get.

use std::io;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit before it was raised. It is one fact about this process, so one place holds it.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit on open descriptors to the hard one and returns what holds now. Children start with the old
/// limit. To be called before anything is started.
///
/// Source: SPEC §5, limits; getrlimit(2).
pub fn raise_descriptor_limit() -> Option<u64> {
    let old = getrlimit(Resource::Nofile);
    BEFORE.get_or_init(|| old);
    if old.current != old.maximum
        && setrlimit(Resource::Nofile, Rlimit { current: old.maximum, ..old }).is_err()
    {
        return old.current;
    }
    old.maximum
}

/// Whether a call failed because this process, or the system, has no descriptor left.
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// The limit that children get, when it was raised.
pub(super) fn before() -> Option<Rlimit> {
    BEFORE.get().cloned()
}
