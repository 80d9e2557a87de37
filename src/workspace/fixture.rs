//! A root for tests, with a neighbour that nobody may touch.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Workspace, is_temporary_name};

/// `base/root` is the workspace; `base/outside/secret` holds [`SECRET`].
pub(crate) struct Fixture {
    base: tempfile::TempDir,
    pub(crate) workspace: Arc<Workspace>,
}

pub(crate) const SECRET: &str = "needle-outside\n";

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    pub(crate) fn below(folder: &Path) -> Self {
        let base = tempfile::tempdir_in(folder).unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(base.path().join("root")).unwrap();
        fs::create_dir(base.path().join("outside")).unwrap();
        fs::write(base.path().join("outside/secret"), SECRET).unwrap();
        let workspace = Arc::new(Workspace::open(&base.path().join("root")).unwrap());
        Self { base, workspace }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.path().join("root").join(name)
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.base.path().join("outside")
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn dir(&self, name: &str) -> &Self {
        fs::create_dir_all(self.path(name)).unwrap();
        self
    }

    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) -> &Self {
        symlink(target, self.path(name)).unwrap();
        self
    }

    pub(crate) fn fifo(&self, name: &str) -> &Self {
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(rustix::fs::CWD, self.path(name), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        self
    }

    pub(crate) fn mode(&self, name: &str, mode: u32) -> &Self {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub(crate) fn mode_of(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn content(&self, name: &str) -> Option<String> {
        fs::read(self.path(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Everything below the root and outside of it: no temporary file, and the neighbour as it was.
    pub(crate) fn assert_clean(&self) {
        let outside: Vec<_> =
            fs::read_dir(self.outside()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(outside, ["secret"]);
        assert_eq!(fs::read_to_string(self.outside().join("secret")).unwrap(), SECRET);
        assert_eq!(self.temporaries(), Vec::<PathBuf>::new());
    }

    pub(crate) fn temporaries(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![self.path("")];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if is_temporary_name(entry.file_name().as_encoded_bytes()) {
                    found.push(entry.path());
                }
                if entry.file_type().unwrap().is_dir() {
                    waiting.push(entry.path());
                }
            }
        }
        found
    }
}

/// Runs a check as somebody who is not root: the permission bits mean nothing to root. Only this thread changes.
pub(crate) fn as_nobody(check: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let (group, user) =
                    (rustix::thread::Gid::from_raw(65534), rustix::thread::Uid::from_raw(65534));
                rustix::thread::set_thread_groups(&[]).unwrap();
                rustix::thread::set_thread_res_gid(group, group, group).unwrap();
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            check();
        });
        thread.join().unwrap();
    });
}
