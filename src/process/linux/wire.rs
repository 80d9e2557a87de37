//! What daemon, warden and keepers say to each other: small packets on SOCK_SEQPACKET pairs, in native byte order.
//! Both ends are the same program image, so there is nothing to negotiate.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::Rlimit;

use crate::process::ExitStatus;
use crate::process::command::Counts;
use crate::process::error::{Stage, Stillborn};

/// Most descriptors in one packet: the directory, 0, 1 and 2.
pub(super) const DESCRIPTORS_MAX: usize = 4;
/// Largest packet of a birth's strings.
pub(super) const CHUNK_BYTES: usize = 65_536;

const REQUEST_BYTES: usize = 7 * 8;
const REPLY_BYTES: usize = 3 * 4;

/// What a keeper is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    /// Start a program. Comes with the directory, 0, 1 and 2; then packets follow with so many bytes of strings.
    Start { bytes: usize, counts: Counts, descriptors: Option<Rlimit> },
    /// Signal the program's process group while the program runs.
    Signal(i32),
    /// Kill the program's process group.
    KillGroup,
    /// Kill the whole tree.
    Kill,
}

/// What a keeper tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reply {
    Started(i32),
    Stillborn(Stillborn),
    /// The program has ended; descendants live on unless `empty`.
    Exited {
        status: ExitStatus,
        empty: bool,
    },
    /// The last descendant has ended.
    Empty,
}

/// Both ends of a new connection: the daemon's, which does not block, and the other.
pub(super) fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

/// Sends one packet, with descriptors perhaps.
pub(super) fn send(socket: BorrowedFd, packet: &[u8], descriptors: &[BorrowedFd]) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(rustix::io::Errno::INVAL);
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(packet)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Descriptors that came with a packet.
pub(super) type Received = [Option<OwnedFd>; DESCRIPTORS_MAX];

/// Receives one packet; 0 bytes when the other end is gone.
pub(super) fn receive(socket: BorrowedFd, packet: &mut [u8]) -> rustix::io::Result<(usize, Received)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        let flags = RecvFlags::CMSG_CLOEXEC;
        match rustix::net::recvmsg(socket, &mut [IoSliceMut::new(packet)], &mut ancillary, flags) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut received = Received::default();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            for (slot, descriptor) in received.iter_mut().zip(descriptors) {
                *slot = Some(descriptor);
            }
        }
    }
    Ok((message.bytes, received))
}

impl Request {
    pub(super) fn send(&self, socket: impl AsFd, descriptors: &[BorrowedFd]) -> rustix::io::Result<()> {
        send(socket.as_fd(), &self.encode(), descriptors)
    }

    /// The next request; nothing when the daemon is gone.
    pub(super) fn receive(socket: BorrowedFd) -> Option<(Self, Received)> {
        let mut packet = [0; REQUEST_BYTES];
        let (bytes, received) = receive(socket, &mut packet).ok()?;
        (bytes == REQUEST_BYTES).then_some(())?;
        Some((Self::decode(&packet)?, received))
    }

    fn encode(&self) -> [u8; REQUEST_BYTES] {
        let words: [u64; 7] = match self {
            Self::Start { bytes, counts, descriptors } => {
                let limit = descriptors.unwrap_or(Rlimit { current: None, maximum: None });
                [
                    if descriptors.is_some() { 1 } else { 0 },
                    *bytes as u64,
                    counts.programs as u64,
                    counts.arguments as u64,
                    counts.variables as u64,
                    limit.current.unwrap_or(u64::MAX),
                    limit.maximum.unwrap_or(u64::MAX),
                ]
            }
            Self::Signal(signal) => [2, *signal as u64, 0, 0, 0, 0, 0],
            Self::KillGroup => [3, 0, 0, 0, 0, 0, 0],
            Self::Kill => [4, 0, 0, 0, 0, 0, 0],
        };
        let mut packet = [0; REQUEST_BYTES];
        for (bytes, word) in packet.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        packet
    }

    fn decode(packet: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let mut words = [0; 7];
        for (word, bytes) in words.iter_mut().zip(packet.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().ok()?);
        }
        let limit = |word| (word != u64::MAX).then_some(word);
        Some(match words {
            [kind @ (0 | 1), bytes, programs, arguments, variables, current, maximum] => Self::Start {
                bytes: bytes as usize,
                counts: Counts {
                    programs: programs as usize,
                    arguments: arguments as usize,
                    variables: variables as usize,
                },
                descriptors: (kind == 1).then(|| Rlimit { current: limit(current), maximum: limit(maximum) }),
            },
            [2, signal, ..] => Self::Signal(signal as i32),
            [3, ..] => Self::KillGroup,
            [4, ..] => Self::Kill,
            _ => return None,
        })
    }
}

impl Reply {
    pub(super) fn send(self, socket: impl AsFd) {
        // A daemon that is gone is noticed at the next receive.
        let _ = send(socket.as_fd(), &self.encode(), &[]);
    }

    /// The next reply; `UnexpectedEof` when the keeper is gone.
    pub(super) fn receive(socket: BorrowedFd) -> std::io::Result<Self> {
        let mut packet = [0; REPLY_BYTES];
        let (bytes, _) = receive(socket, &mut packet)?;
        (bytes == REPLY_BYTES)
            .then(|| Self::decode(&packet))
            .flatten()
            .ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    }

    fn encode(self) -> [u8; REPLY_BYTES] {
        let words: [i32; 3] = match self {
            Self::Started(pid) => [0, pid, 0],
            Self::Stillborn(Stillborn { stage, errno }) => {
                let stage = match stage {
                    Stage::Lookup => 1,
                    Stage::Resources => 2,
                    Stage::Directory => 3,
                    Stage::Execute => 4,
                };
                [stage, errno, 0]
            }
            Self::Exited { status: ExitStatus::Code(code), empty } => [5, code, empty.into()],
            Self::Exited { status: ExitStatus::Signal(signal), empty } => [6, signal, empty.into()],
            Self::Empty => [7, 0, 0],
        };
        let mut packet = [0; REPLY_BYTES];
        for (bytes, word) in packet.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        packet
    }

    fn decode(packet: &[u8; REPLY_BYTES]) -> Option<Self> {
        let mut words = [0; 3];
        for (word, bytes) in words.iter_mut().zip(packet.chunks_exact(4)) {
            *word = i32::from_ne_bytes(bytes.try_into().ok()?);
        }
        Some(match words {
            [0, pid, _] => Self::Started(pid),
            [1, errno, _] => Self::Stillborn(Stillborn { stage: Stage::Lookup, errno }),
            [2, errno, _] => Self::Stillborn(Stillborn { stage: Stage::Resources, errno }),
            [3, errno, _] => Self::Stillborn(Stillborn { stage: Stage::Directory, errno }),
            [4, errno, _] => Self::Stillborn(Stillborn { stage: Stage::Execute, errno }),
            [5, code, empty] => Self::Exited { status: ExitStatus::Code(code), empty: empty == 1 },
            [6, signal, empty] => Self::Exited { status: ExitStatus::Signal(signal), empty: empty == 1 },
            [7, ..] => Self::Empty,
            _ => return None,
        })
    }
}
