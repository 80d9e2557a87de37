//! Where children are born.

use std::io;
use std::os::fd::OwnedFd;
use std::str::FromStr;

use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::command::Order;
use super::system::Mechanism;
use super::{Child, Command, Input, StartError, disposition};

/// How the trees of children are to be held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preference {
    /// The best that works here.
    #[default]
    Best,
    /// A cgroup v2 for each child, or nothing.
    Cgroup,
    /// A keeper for each child, or nothing.
    Keeper,
    /// Only the process group. Needs no start and no warden: for the process that answers one request.
    Group,
}

impl FromStr for Preference {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "best" => Ok(Self::Best),
            "cgroup" => Ok(Self::Cgroup),
            "keeper" => Ok(Self::Keeper),
            "group" => Ok(Self::Group),
            other => Err(format!("containment {other:?} must be best, cgroup, keeper or group")),
        }
    }
}

/// Starts children so that each one's tree can be killed at once, and is when this process ends, however it ends.
///
/// Dropped at the end, after all children, it kills what is left and waits for the warden.
pub struct Containment {
    mechanism: Mechanism,
    /// `/dev/null`; None where there is none.
    null: Option<OwnedFd>,
}

/// Names the mechanism that a daemon must use, for tests and measurements.
const VARIABLE: &str = "AXLR_CONTAINMENT";

impl Containment {
    /// Makes what the mechanism needs: a cgroup, a warden. To be called once by a daemon, at the start and before there are
    /// threads, while the process is small: the warden is a fork of it.
    ///
    /// # Errors
    /// A mechanism that was named does not work here; the others fall back.
    ///
    /// Source: SPEC §8.
    pub fn start(preference: Preference) -> io::Result<Self> {
        disposition::heed_children();
        Ok(Self::with(Mechanism::start(preference)?))
    }

    /// The best that works here, or what `AXLR_CONTAINMENT` names.
    ///
    /// # Errors
    /// The variable names no mechanism, or one that does not work here.
    pub fn start_for_daemon() -> io::Result<Self> {
        let preference = match std::env::var(VARIABLE) {
            Ok(name) => name.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?,
            Err(_) => Preference::Best,
        };
        Self::start(preference)
    }

    /// Only process groups: for the process that answers one request.
    pub fn group() -> Self {
        disposition::heed_children();
        Self::with(Mechanism::group())
    }

    fn with(mechanism: Mechanism) -> Self {
        let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        Self { mechanism, null }
    }

    /// `cgroup`, `keeper` or `group`.
    pub fn name(&self) -> &'static str {
        self.mechanism.name()
    }

    /// Sees to it that there is a warden, until [`Containment::kill_all`]: one that somebody kills is replaced at once.
    pub async fn guard(&self) {
        self.mechanism.guard().await;
    }

    /// Kills every tree and waits for the warden: the end of the daemon. Nothing starts afterwards. A process group
    /// that nobody holds as a [`Child`] is out of reach.
    pub fn kill_all(&self) {
        self.mechanism.kill_all();
    }

    /// Starts a program. The child leads its own process group, has no descriptors but 0, 1 and 2, default signal
    /// dispositions, an empty mask, and the descriptor limit from before it was raised.
    ///
    /// # Errors
    /// See [`StartError`]; nothing runs then.
    pub async fn spawn(&self, command: Command) -> Result<Child, StartError> {
        let cloexec = PipeFlags::CLOEXEC;
        let (child_stdin, stdin) = match command.stdin {
            Input::Null => (self.empty_stdin()?, None),
            Input::Pipe => {
                pipe_with(cloexec).map(|(read, write)| (read, Some(write))).map_err(io::Error::from)?
            }
        };
        let (stdout, child_stdout) = pipe_with(cloexec).map_err(io::Error::from)?;
        let (stderr, child_stderr) = pipe_with(cloexec).map_err(io::Error::from)?;
        let stdin = stdin.map(Sender::from_owned_fd).transpose()?;
        let stdout = Receiver::from_owned_fd(stdout)?;
        let stderr = Receiver::from_owned_fd(stderr)?;
        let order = Order::new(command, [child_stdin, child_stdout, child_stderr])?;
        let tree = self.mechanism.spawn(order).await?;
        Ok(Child::new(tree, stdin, stdout, stderr))
    }

    fn empty_stdin(&self) -> io::Result<OwnedFd> {
        match &self.null {
            Some(null) => null.try_clone(),
            // A pipe whose other end is closed is as empty.
            None => Ok(pipe_with(PipeFlags::CLOEXEC)?.0),
        }
    }
}
