//! Files to work on, below the target folder: on the disk that the project is on, since a file system in memory keeps
//! other promises. Trees are made once.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::text::{self, Numbers};

/// What the few-matches patterns look for, in a few files of each tree.
pub(crate) const NEEDLE: &str = "Zero_Length_Quorum";
/// A file in so many has it.
const NEEDLE_EVERY: usize = 100;
/// To be raised when the text or the shape of the trees changes.
const EDITION: u32 = 1;

/// Where the benches keep their files and tables.
pub(crate) fn folder() -> PathBuf {
    let folder = target().join("bench-data");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The target folder: two above the daemon.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_axlrd")).ancestors().nth(2).unwrap().to_owned()
}

/// A folder for one bench.
pub(crate) fn scratch() -> TempDir {
    TempDir::with_prefix_in("scratch-", folder()).unwrap()
}

/// A source tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    pub(crate) name: &'static str,
    pub(crate) files: usize,
    folders: usize,
    mean_bytes: usize,
}

/// A project: 2 000 files, about 28 MB.
pub(crate) const PROJECT: Tree = Tree { name: "project", files: 2_000, folders: 180, mean_bytes: 14_000 };
/// As much as one search takes: 18 000 files, about 58 MB.
pub(crate) const LARGE: Tree = Tree { name: "large", files: 18_000, folders: 1_500, mean_bytes: 3_200 };
/// A small one for one-shot requests.
pub(crate) const SMALL: Tree = Tree { name: "small", files: 200, folders: 20, mean_bytes: 8_000 };

impl Tree {
    /// Its folder; it is made when it isn't there yet.
    pub(crate) fn path(self) -> PathBuf {
        let path = folder().join(format!("tree-{}-{EDITION}", self.name));
        if path.is_dir() {
            return path;
        }
        // Whole or not at all: a bench that is interrupted leaves no half of a tree.
        let making = scratch();
        self.make(making.path());
        fs::rename(making.keep(), &path).unwrap();
        path
    }

    fn make(self, root: &Path) {
        let mut numbers = Numbers::new(self.files as u64);
        // Each folder stands in an earlier one, mostly near the top: some six levels.
        let mut folders = vec![(PathBuf::new(), 0)];
        while folders.len() < self.folders {
            let (parent, depth) = folders[numbers.below(folders.len().min(self.folders / 4).max(1))].clone();
            if depth < 6 {
                let name = format!("{}_{}", numbers.pick(text::WORDS), folders.len());
                folders.push((parent.join(name), depth + 1));
            }
        }
        for (folder, _) in &folders {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for index in 0..self.files {
            let (folder, _) = &folders[numbers.below(folders.len())];
            let name = format!("{}_{}_{index}.c", numbers.pick(text::WORDS), numbers.pick(text::WORDS));
            // Many small ones and a few large ones: the mean of the factor is 1.
            let factor = [1, 2, 3, 4, 6, 8, 12, 16, 30, 38][numbers.below(10)];
            let mut content = text::source(&mut numbers, self.mean_bytes * factor / 12);
            if index % NEEDLE_EVERY == NEEDLE_EVERY / 2 {
                content.push_str(&format!("\treturn {NEEDLE};\n"));
            }
            fs::write(root.join(folder).join(name), content).unwrap();
        }
    }
}
