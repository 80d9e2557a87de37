//! How a program ended, and the names of signals.

use axlr_protocol::tool::SignalName;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

impl ExitStatus {
    /// The exit code; -1 when a signal killed it. SPEC §3.4.
    pub fn code(self) -> i64 {
        match self {
            Self::Code(code) => code.into(),
            Self::Signal(_) => -1,
        }
    }

    /// The name of the signal that killed it, without `SIG`.
    pub fn signal(self) -> Option<String> {
        match self {
            Self::Code(_) => None,
            Self::Signal(number) => Some(name(number)),
        }
    }
}

/// The number of a signal that a client can send.
pub(super) fn number(signal: SignalName) -> i32 {
    match signal {
        SignalName::Int => libc::SIGINT,
        SignalName::Term => libc::SIGTERM,
        SignalName::Hup => libc::SIGHUP,
        SignalName::Quit => libc::SIGQUIT,
        SignalName::Kill => libc::SIGKILL,
        SignalName::Usr1 => libc::SIGUSR1,
        SignalName::Usr2 => libc::SIGUSR2,
        SignalName::Stop => libc::SIGSTOP,
        SignalName::Cont => libc::SIGCONT,
    }
}

/// The name of a signal without `SIG`; its number where it has none (the real-time signals).
fn name(number: i32) -> String {
    let name = match number {
        libc::SIGHUP => "HUP",
        libc::SIGINT => "INT",
        libc::SIGQUIT => "QUIT",
        libc::SIGILL => "ILL",
        libc::SIGTRAP => "TRAP",
        libc::SIGABRT => "ABRT",
        libc::SIGBUS => "BUS",
        libc::SIGFPE => "FPE",
        libc::SIGKILL => "KILL",
        libc::SIGUSR1 => "USR1",
        libc::SIGSEGV => "SEGV",
        libc::SIGUSR2 => "USR2",
        libc::SIGPIPE => "PIPE",
        libc::SIGALRM => "ALRM",
        libc::SIGTERM => "TERM",
        libc::SIGCHLD => "CHLD",
        libc::SIGCONT => "CONT",
        libc::SIGSTOP => "STOP",
        libc::SIGTSTP => "TSTP",
        libc::SIGTTIN => "TTIN",
        libc::SIGTTOU => "TTOU",
        libc::SIGURG => "URG",
        libc::SIGXCPU => "XCPU",
        libc::SIGXFSZ => "XFSZ",
        libc::SIGVTALRM => "VTALRM",
        libc::SIGPROF => "PROF",
        libc::SIGWINCH => "WINCH",
        libc::SIGIO => "IO",
        libc::SIGSYS => "SYS",
        #[cfg(target_os = "linux")]
        libc::SIGPWR => "PWR",
        #[cfg(target_os = "linux")]
        libc::SIGSTKFLT => "STKFLT",
        other => return other.to_string(),
    };
    name.to_owned()
}
