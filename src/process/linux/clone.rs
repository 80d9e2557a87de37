//! Birth of a child without copying the daemon: clone(2) with CLONE_VM and CLONE_VFORK on a stack of its own.
//!
//! fork(2) copies page tables, which at 1 GiB resident costs twenty times the rest; so the child borrows the memory of
//! the thread that makes it, which waits until execve(2). Everything is prepared before; the child allocates nothing
//! and reports an error through that memory.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Pid, Rlimit, WaitId, WaitIdOptions};

use crate::process::command::Counts;
use crate::process::error::{Stage, Stillborn};

/// What execve(2) wants, pointing into one block of strings.
pub(super) struct Vectors<'a> {
    programs: &'a [*const c_char],
    argv: &'a [*const c_char],
    envp: &'a [*const c_char],
}

/// Where a child is born.
pub(super) struct Place<'a> {
    pub(super) directory: BorrowedFd<'a>,
    /// Its 0, 1 and 2. All are above 2 themselves: the standard library keeps 0, 1 and 2 open.
    pub(super) stdio: [BorrowedFd<'a>; 3],
    /// The descriptor limit to set, when the daemon's own was raised.
    pub(super) descriptors: Option<Rlimit>,
    pub(super) cgroup: Option<BorrowedFd<'a>>,
}

/// A child that runs its program, not yet waited for.
pub(super) struct Born {
    pub(super) pid: Pid,
    pub(super) pidfd: OwnedFd,
}

/// How often a program that somebody still holds open for writing is tried again, and how long after, in milliseconds.
///
/// A script that was just written may be held for a moment by the copy of our descriptors in another child that is
/// about to be born.
const BUSY_PAUSES_MS: [i64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The child's stack. It needs a few hundred bytes; an unoptimised build more.
const STACK_BYTES: usize = 64 * 1024;
/// The size of the kernel's signal set, in bytes.
const SIGSET_BYTES: usize = 8;
/// The last signal, SIGRTMAX.
const SIGNAL_LAST: c_int = 64;

/// How many pointers [`lay_out`] fills in.
pub(super) fn pointer_count(counts: Counts) -> usize {
    counts.programs + counts.arguments + counts.variables + 2
}

/// Points `table` at the strings; nothing when they are not as `counts` says.
pub(super) fn lay_out<'a>(
    strings: &'a [u8],
    counts: Counts,
    table: &'a mut [*const c_char],
) -> Option<Vectors<'a>> {
    let first_variable = counts.programs + counts.arguments + 1;
    let mut rest = strings;
    for (index, slot) in table.iter_mut().enumerate() {
        if index + 1 == first_variable || index == first_variable + counts.variables {
            *slot = ptr::null();
            continue;
        }
        let end = memchr::memchr(0, rest)?;
        *slot = rest.as_ptr().cast();
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() || table.len() != pointer_count(counts) {
        return None;
    }
    let (programs, vectors) = table.split_at(counts.programs);
    let (argv, envp) = vectors.split_at(counts.arguments + 1);
    Some(Vectors { programs, argv, envp })
}

/// Starts a program. Blocks until it runs, or has failed and is reaped.
pub(super) fn start(vectors: &Vectors, place: &Place) -> Result<Born, Stillborn> {
    let program = choose(vectors.programs)?;
    for pause in BUSY_PAUSES_MS {
        match attempt(program, vectors, place) {
            Err(Stillborn { stage: Stage::Execute, errno: libc::ETXTBSY }) => {
                let pause = rustix::thread::Timespec { tv_sec: 0, tv_nsec: pause * 1_000_000 };
                let _ = rustix::thread::nanosleep(&pause);
            }
            other => return other,
        }
    }
    attempt(program, vectors, place)
}

/// Sees whether this process may make a child in a cgroup.
pub(super) fn try_cgroup(group: BorrowedFd) -> Result<(), Stillborn> {
    extern "C" fn leave(_: *const c_void) -> ! {
        // SAFETY: _exit(2) takes no lock and touches no memory.
        unsafe { libc::_exit(0) }
    }
    let born = clone(Some(group), leave, ptr::null())?;
    let status = rustix::process::waitid(WaitId::PidFd(born.pidfd.as_fd()), WaitIdOptions::EXITED);
    // Where this process's own group was killed before it came there, a child in another group may be killed too.
    match status.ok().flatten().and_then(|status| status.exit_status()) {
        Some(0) => Ok(()),
        _ => Err(Stillborn { stage: Stage::Resources, errno: libc::EIO }),
    }
}

/// The first regular file with an execute bit. One path alone is left to execve(2) to judge.
fn choose(programs: &[*const c_char]) -> Result<*const c_char, Stillborn> {
    if let [only] = programs {
        return Ok(*only);
    }
    let is_program = |path: &*const c_char| {
        // SAFETY: `lay_out` made the pointer from a string that ends with NUL and outlives the vectors.
        let path = unsafe { std::ffi::CStr::from_ptr(*path) };
        rustix::fs::stat(path)
            .is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG && stat.st_mode & 0o111 != 0)
    };
    programs.iter().copied().find(is_program).ok_or(Stillborn { stage: Stage::Lookup, errno: libc::ENOENT })
}

/// What the child reads, and where it reports. Both live in the memory that parent and child share.
struct Errand {
    program: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    directory: RawFd,
    stdio: [RawFd; 3],
    descriptors: Option<libc::rlimit>,
    stage: AtomicI32,
    errno: AtomicI32,
}

fn attempt(program: *const c_char, vectors: &Vectors, place: &Place) -> Result<Born, Stillborn> {
    use std::os::fd::AsRawFd;
    let errand = Errand {
        program,
        argv: vectors.argv.as_ptr(),
        envp: vectors.envp.as_ptr(),
        directory: place.directory.as_raw_fd(),
        stdio: place.stdio.map(|descriptor| descriptor.as_raw_fd()),
        descriptors: place.descriptors.map(|limit| libc::rlimit {
            rlim_cur: limit.current.unwrap_or(libc::RLIM_INFINITY),
            rlim_max: limit.maximum.unwrap_or(libc::RLIM_INFINITY),
        }),
        stage: AtomicI32::new(0),
        errno: AtomicI32::new(0),
    };
    let born = clone(place.cgroup, live, (&raw const errand).cast())?;
    let errno = errand.errno.load(Ordering::Acquire);
    if errno == 0 {
        return Ok(born);
    }
    // It has left by now, so this does not wait.
    let _ = rustix::process::waitid(WaitId::PidFd(born.pidfd.as_fd()), WaitIdOptions::EXITED);
    let stage = match errand.stage.load(Ordering::Relaxed) {
        STAGE_DIRECTORY => Stage::Directory,
        STAGE_EXECUTE => Stage::Execute,
        _ => Stage::Resources,
    };
    Err(Stillborn { stage, errno })
}

const STAGE_DESCRIPTORS: i32 = 1;
const STAGE_DIRECTORY: i32 = 2;
const STAGE_EXECUTE: i32 = 3;

/// The child's whole life before its program. Its own process group, its descriptors, its directory, default signals,
/// the old limits; then execve(2).
extern "C" fn live(errand: *const c_void) -> ! {
    // SAFETY: `attempt` waits, with the errand on its stack, until this process has executed or left. All calls are
    // async-signal-safe; they touch no memory but this stack, the errand and the waiting thread's errno.
    unsafe {
        let errand = &*errand.cast::<Errand>();
        libc::setpgid(0, 0);
        for (target, source) in (0..).zip(errand.stdio) {
            if libc::dup2(source, target) < 0 {
                fail(errand, STAGE_DESCRIPTORS);
            }
        }
        if libc::fchdir(errand.directory) < 0 {
            fail(errand, STAGE_DIRECTORY);
        }
        close_range(3, c_uint::MAX);
        if let Some(limit) = &errand.descriptors {
            libc::setrlimit(libc::RLIMIT_NOFILE, limit);
        }
        forget_oom_score();
        // In this order: a handler of the daemon must not run in the child.
        default_dispositions();
        set_mask(0);
        libc::execve(errand.program, errand.argv, errand.envp);
        fail(errand, STAGE_EXECUTE);
    }
}

/// # Safety
/// Only for the child, whose errand outlives it.
unsafe fn fail(errand: &Errand, stage: i32) -> ! {
    errand.stage.store(stage, Ordering::Relaxed);
    // SAFETY: errno of the waiting thread, which the last call set; _exit(2) runs no handler of that thread's process.
    unsafe {
        errand.errno.store(*libc::__errno_location(), Ordering::Release);
        libc::_exit(127)
    }
}

/// Closes the descriptors `first` to `last`, both included.
///
/// # Safety
/// Only for a process that uses none of them any more.
pub(super) unsafe fn close_range(first: c_uint, last: c_uint) {
    // SAFETY: see above; kernels before 5.9 have no close_range(2), there each number is tried.
    unsafe {
        if first > last || libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
            return;
        }
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let end = c_uint::try_from(limit.rlim_cur).unwrap_or(c_uint::MAX);
        for descriptor in first..=last.min(end) {
            libc::close(descriptor as c_int);
        }
    }
}

/// The daemon may be protected from the OOM killer; its children are not. Refused where that would be a privilege.
///
/// # Safety
/// Only for the child: async-signal-safe, but it changes the process.
unsafe fn forget_oom_score() {
    // SAFETY: async-signal-safe calls on a constant path and a descriptor of our own.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, c"0".as_ptr().cast(), 1);
            libc::close(file);
        }
    }
}

/// Every disposition to its default: execve(2) keeps ignored signals ignored, and the standard library ignores PIPE.
///
/// # Safety
/// Only for a process that has its own table of dispositions and needs none of its handlers.
pub(super) unsafe fn default_dispositions() {
    for signal in 1..=SIGNAL_LAST {
        set_disposition(signal, libc::SIG_DFL);
    }
}

/// Sets one disposition, `SIG_DFL` or `SIG_IGN`. KILL and STOP refuse it, which is no harm.
pub(super) fn set_disposition(signal: c_int, disposition: libc::sighandler_t) {
    let action = [disposition as u64, 0, 0, 0];
    // SAFETY: the kernel's sigaction is four words on both architectures, and without a handler only the first says
    // something. The raw call also reaches the signals that libc keeps for itself.
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), ptr::null::<u64>(), SIGSET_BYTES);
    }
}

/// Sets this thread's signal mask and returns the old one.
pub(super) fn set_mask(mask: u64) -> u64 {
    let mut old = 0_u64;
    // SAFETY: both sets are of the size that is announced.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut old,
            SIGSET_BYTES,
        );
    }
    old
}

/// fork(2), but with a pidfd and nothing of libc's around it: for a child that keeps to async-signal-safe calls. All
/// signals are blocked in the child.
pub(super) fn fork() -> rustix::io::Result<Option<Born>> {
    let mut pidfd: c_int = -1;
    let mask = set_mask(u64::MAX);
    // SAFETY: without CLONE_VM the child has its own copy of everything and returns on its own copy of this stack.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone,
            c_long::from(libc::CLONE_PIDFD | libc::SIGCHLD),
            ptr::null::<c_void>(),
            &raw mut pidfd,
            ptr::null::<c_void>(),
            ptr::null::<c_void>(),
        )
    };
    if pid == 0 {
        return Ok(None);
    }
    // SAFETY: errno of the call above.
    let errno = unsafe { *libc::__errno_location() };
    set_mask(mask);
    match born(pid, pidfd) {
        Some(born) => Ok(Some(born)),
        None => Err(rustix::io::Errno::from_raw_os_error(errno)),
    }
}

fn born(pid: c_long, pidfd: c_int) -> Option<Born> {
    let pid = Pid::from_raw(i32::try_from(pid).ok().filter(|pid| *pid > 0)?)?;
    // SAFETY: clone(2) made it for us.
    Some(Born { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } })
}

/// Makes a child that runs `entry` in our memory while this thread waits for it to execute or leave.
fn clone(
    cgroup: Option<BorrowedFd>,
    entry: extern "C" fn(*const c_void) -> !,
    argument: *const c_void,
) -> Result<Born, Stillborn> {
    use std::os::fd::AsRawFd;
    let resources = |errno| Stillborn { stage: Stage::Resources, errno };
    let stack = Stack::map().map_err(resources)?;
    let mut pidfd: c_int = -1;
    let flags = (libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD) as usize;
    // No handler may run in the child on our memory, so none is let in until it has default dispositions.
    let mask = set_mask(u64::MAX);
    let result = match cgroup {
        // The old call is everywhere, also where a filter does not know the new one.
        None => {
            let arguments = [flags | libc::SIGCHLD as usize, stack.top(), (&raw mut pidfd).addr(), 0, 0];
            // SAFETY: the child gets a stack of its own, runs `entry` there and never comes back; the pointers
            // outlive it, because CLONE_VFORK holds this thread here.
            unsafe { clone_onto(libc::SYS_clone, arguments, entry, argument) }
        }
        Some(group) => {
            let arguments = CloneArguments {
                flags: flags as u64 | CLONE_INTO_CGROUP,
                pidfd: (&raw mut pidfd).addr() as u64,
                exit_signal: libc::SIGCHLD as u64,
                stack: stack.0.addr() as u64,
                stack_size: STACK_BYTES as u64,
                cgroup: group.as_raw_fd() as u64,
                ..CloneArguments::default()
            };
            let arguments =
                [(&raw const arguments).expose_provenance(), size_of::<CloneArguments>(), 0, 0, 0];
            // SAFETY: as above; the argument structure outlives the call.
            unsafe { clone_onto(libc::SYS_clone3, arguments, entry, argument) }
        }
    };
    set_mask(mask);
    drop(stack);
    match born(result as c_long, pidfd) {
        Some(born) => Ok(born),
        None => Err(resources(-(result as i32))),
    }
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The kernel's `struct clone_args`. clone3(2).
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// # Safety
/// The arguments must be those of a clone call with CLONE_VM, CLONE_VFORK and a stack.
#[cfg(target_arch = "x86_64")]
unsafe fn clone_onto(
    number: c_long,
    arguments: [usize; 5],
    entry: extern "C" fn(*const c_void) -> !,
    argument: *const c_void,
) -> isize {
    let result: isize;
    // SAFETY: the parent goes on after the call with only the registers changed that are named; the child, on its
    // fresh and aligned stack, calls `entry`, which does not return.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r12") entry,
            in("r13") argument,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    result
}

/// # Safety
/// The arguments must be those of a clone call with CLONE_VM, CLONE_VFORK and a stack.
#[cfg(target_arch = "aarch64")]
unsafe fn clone_onto(
    number: c_long,
    arguments: [usize; 5],
    entry: extern "C" fn(*const c_void) -> !,
    argument: *const c_void,
) -> isize {
    let result: isize;
    // SAFETY: as on x86_64.
    unsafe {
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x30, xzr",
            "mov x0, x21",
            "blr x20",
            "brk 1",
            "2:",
            in("x8") number,
            inlateout("x0") arguments[0] as isize => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x20") entry,
            in("x21") argument,
        );
    }
    result
}

/// Memory for a child's stack.
struct Stack(*mut c_void);

impl Stack {
    fn map() -> Result<Self, i32> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::STACK | MapFlags::NORESERVE;
        // SAFETY: a new mapping, placed by the kernel.
        match unsafe { mmap_anonymous(ptr::null_mut(), STACK_BYTES, protection, flags) } {
            Ok(base) => Ok(Self(base)),
            Err(error) => Err(error.raw_os_error()),
        }
    }

    /// The stack grows down from here. The mapping's end is aligned to a page.
    fn top(&self) -> usize {
        self.0.expose_provenance() + STACK_BYTES
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which no child uses any more: it has executed or left.
        let _ = unsafe { rustix::mm::munmap(self.0, STACK_BYTES) };
    }
}
