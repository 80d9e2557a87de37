//! The names in one directory, in byte order.

use super::directory::{Directory, Kind, kind_of};
use crate::workspace::{Error, is_temporary_name};

/// Names as one block of bytes and an index into it: two allocations, however many names. Listings are reused.
#[derive(Debug, Default)]
pub(super) struct Listing {
    names: Vec<u8>,
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The first eight bytes of the name as a big-endian number: most comparisons end here, without a look at the
    /// name. Names hold no NUL, so padding with it keeps the order.
    prefix: u64,
    start: u32,
    length: u16,
    /// `None` when the file system leaves it to stat(2).
    kind: Option<Kind>,
}

impl Listing {
    /// Reads a directory anew, keeping the first `most` names in byte order. `chunk` is room for getdents(2). Between
    /// chunks `stop` is asked; when it says yes the listing stays incomplete.
    pub(super) fn read(
        &mut self,
        directory: &Directory,
        most: usize,
        chunk: &mut Vec<u8>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        self.names.clear();
        self.slots.clear();
        for_each_name(directory, chunk, stop, |name, kind| {
            self.push(name, kind);
            // However large the directory, what is kept stays within twice of what can still be walked.
            if self.slots.len() >= most.saturating_mul(2) {
                self.prune(most);
            }
        })?;
        self.prune(most);
        let names = &self.names;
        self.slots.sort_unstable_by(|left, right| left.cmp_by_name(right, names));
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn name(&self, index: usize) -> &[u8] {
        self.slots[index].name(&self.names)
    }

    pub(super) fn kind(&self, index: usize) -> Option<Kind> {
        self.slots[index].kind
    }

    pub(super) fn contains(&self, name: &[u8]) -> bool {
        let wanted = Slot { prefix: prefix(name), start: 0, length: name.len() as u16, kind: None };
        self.slots
            .binary_search_by(|slot| {
                slot.prefix.cmp(&wanted.prefix).then_with(|| slot.name(&self.names).cmp(name))
            })
            .is_ok()
    }

    fn push(&mut self, name: &[u8], kind: Option<Kind>) {
        let start = u32::try_from(self.names.len());
        let (Ok(start), Ok(length)) = (start, u16::try_from(name.len())) else {
            // Out of reach: names have at most 255 bytes and `most` is far below 2^24.
            return;
        };
        self.slots.push(Slot { prefix: prefix(name), start, length, kind });
        self.names.extend_from_slice(name);
    }

    /// Drops all but the first `most` names, which may stay unsorted.
    fn prune(&mut self, most: usize) {
        if self.slots.len() <= most {
            return;
        }
        let names = &self.names;
        self.slots.select_nth_unstable_by(most, |left, right| left.cmp_by_name(right, names));
        self.slots.truncate(most);
        let mut kept = Vec::with_capacity(self.slots.iter().map(|slot| usize::from(slot.length)).sum());
        for slot in &mut self.slots {
            let name = slot.name(&self.names);
            slot.start = kept.len() as u32;
            kept.extend_from_slice(name);
        }
        self.names = kept;
    }
}

impl Slot {
    fn name<'n>(&self, names: &'n [u8]) -> &'n [u8] {
        &names[self.start as usize..][..usize::from(self.length)]
    }

    fn cmp_by_name(&self, other: &Slot, names: &[u8]) -> std::cmp::Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| self.name(names).cmp(other.name(names)))
    }
}

fn prefix(name: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = name.len().min(8);
    bytes[..length].copy_from_slice(&name[..length]);
    u64::from_be_bytes(bytes)
}

/// Calls `each` with every name but `.`, `..` and those of unfinished writes.
#[cfg(target_os = "linux")]
fn for_each_name(
    directory: &Directory,
    chunk: &mut Vec<u8>,
    stop: &dyn Fn() -> bool,
    mut each: impl FnMut(&[u8], Option<Kind>),
) -> Result<(), Error> {
    use rustix::fs::RawDir;
    use rustix::io::Errno;

    let mut entries = RawDir::new(directory, chunk.spare_capacity_mut());
    loop {
        if entries.is_buffer_empty() && stop() {
            return Ok(());
        }
        match entries.next() {
            None => return Ok(()),
            // The directory was removed while it was read: it has no names any more.
            Some(Err(Errno::NOENT)) => return Ok(()),
            Some(Err(Errno::INTR)) => {}
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(entry)) => {
                let name = entry.file_name().to_bytes();
                if is_walked(name) {
                    each(name, kind_of(entry.file_type()));
                }
            }
        }
    }
}

/// Calls `each` with every name but `.`, `..` and those of unfinished writes.
#[cfg(not(target_os = "linux"))]
fn for_each_name(
    directory: &Directory,
    _chunk: &mut Vec<u8>,
    stop: &dyn Fn() -> bool,
    mut each: impl FnMut(&[u8], Option<Kind>),
) -> Result<(), Error> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        if stop() {
            return Ok(());
        }
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if is_walked(name) {
            each(name, kind_of(entry.file_type()));
        }
    }
    Ok(())
}

fn is_walked(name: &[u8]) -> bool {
    name != b"." && name != b".." && !is_temporary_name(name)
}
