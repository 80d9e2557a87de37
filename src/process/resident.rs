//! How much memory this process has.

/// Resident memory of this process, in bytes; 0 where the system does not say.
///
/// Source: SPEC §7, `server.stats`.
#[cfg(target_os = "linux")]
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    // SAFETY: a plain question.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages * u64::try_from(page).unwrap_or(0)
}

/// Resident memory of this process, in bytes; 0 where the system does not say.
///
/// Source: SPEC §7, `server.stats`.
#[cfg(not(target_os = "linux"))]
pub fn resident_bytes() -> u64 {
    0
}
