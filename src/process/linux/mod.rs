//! Linux: birth by clone(2), death seen through pidfds, trees held by cgroups or keepers.
//!
//! Who is who: the daemon talks to its [`warden`] over a socket; in keeper mode the warden forks keepers ([`keeper`]),
//! and the daemon's side of one is [`kept`]. [`own`] is a child of the daemon itself, in a cgroup or in nothing but its
//! process group. Warden and keepers come from a fork without exec, perhaps of a process with threads, so their code
//! allocates nothing, takes no lock and does not print.

mod cgroup;
mod clone;
mod forked;
mod keeper;
mod kept;
mod own;
mod slay;
mod tree;
mod warden;
mod wire;

pub(super) use tree::{Leftover, Mechanism, Tree};
