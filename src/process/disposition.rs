//! What whoever started this process may have left it with.

use std::ptr;

/// Makes sure that children become zombies when they end, for us to ask how. execve(2) hands an ignored SIGCHLD down,
/// and then the kernel reaps each child itself: nobody would learn of its end, and its process group's number could
/// come to mean somebody else's.
///
/// Source: waitpid(2), notes.
pub(super) fn heed_children() {
    // SAFETY: a zeroed action is one without handler, mask or flags; the disposition is only changed where it is
    // "ignore", so nobody's handler is lost.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let is_known = libc::sigaction(libc::SIGCHLD, ptr::null(), &mut action) == 0;
        if is_known && action.sa_sigaction == libc::SIG_IGN {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
    }
}
