//! Which items of a long sequence are a page's.

use axlr_protocol::codec::json_size;
use serde::Serialize;

/// Counts items as they come, in order. A page ends before the item that is one too many or would pass the bytes, and
/// that item is the proof that more follow; the first item always fits. SPEC §3.5.
#[derive(Debug)]
pub(super) struct Page {
    offset: u64,
    most_items: u64,
    most_bytes: u64,
    passed: u64,
    items: u64,
    bytes: u64,
    more: bool,
}

/// What becomes of the next item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It lies before the page: drop it.
    Passed,
    /// It is wanted, when its size fits: offer it to [`Page::admit`].
    Wanted,
    /// It is the proof that more follow. The page is decided.
    Beyond,
}

impl Page {
    pub(super) fn new(offset: u64, most_items: u64, most_bytes: u64) -> Self {
        Self { offset, most_items, most_bytes, passed: 0, items: 0, bytes: 0, more: false }
    }

    /// The turn of the next item.
    pub(super) fn turn(&mut self) -> Turn {
        if self.passed < self.offset {
            self.passed += 1;
            Turn::Passed
        } else if self.items == self.most_items {
            self.more = true;
            Turn::Beyond
        } else {
            Turn::Wanted
        }
    }

    /// Takes a wanted item of this size into the page, or finds that it belongs to the next one.
    pub(super) fn admit(&mut self, size: u64) -> bool {
        if self.items > 0 && self.bytes + size > self.most_bytes {
            self.more = true;
            return false;
        }
        self.items += 1;
        self.bytes += size;
        true
    }

    /// How many items there is still room for.
    pub(super) fn room(&self) -> u64 {
        self.most_items - self.items
    }

    /// How many items still have to be passed over.
    pub(super) fn to_pass(&self) -> u64 {
        self.offset - self.passed
    }

    /// Passes over so many items at once, as far as they lie before the page.
    pub(super) fn pass(&mut self, count: u64) {
        self.passed += count.min(self.to_pass());
    }

    /// Whether more follow, as far as is known.
    pub(super) fn has_more(&self) -> bool {
        self.more
    }

    /// Where the next page begins, when more follow.
    pub(super) fn next_offset(&self) -> Option<u64> {
        self.more.then(|| self.offset + self.items)
    }
}

/// What an item counts in a page: its compact JSON and one byte. SPEC §3.5.
pub(super) fn page_size(item: &impl Serialize) -> u64 {
    json_size(item) as u64 + 1
}

#[cfg(test)]
mod tests;
