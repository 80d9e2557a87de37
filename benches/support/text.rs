//! Text that looks like source code, the same on every machine.

/// A small generator of numbers (xorshift64*), so that the data needs no crate and never changes.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// From 0 to `end`, that excluded.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

pub(crate) const WORDS: &[&str] = &[
    "buffer", "count", "device", "entry", "flags", "handle", "index", "journal", "kernel", "length", "mutex",
    "node", "offset", "page", "queue", "region", "segment", "table", "usage", "vector", "window", "cache",
    "driver", "event", "frame", "group", "header", "inode", "key", "level", "memory", "name", "owner",
    "packet", "range", "socket",
];
const TYPES: &[&str] = &["int", "u32", "size_t", "struct list", "void", "bool", "const char *"];

/// About so many bytes of it, ending with a line end; at least one line.
pub(crate) fn source(numbers: &mut Numbers, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut depth = 0;
    while text.len() < bytes {
        let (a, b, c) = (numbers.pick(WORDS), numbers.pick(WORDS), numbers.pick(WORDS));
        let indent = "\t".repeat(depth);
        let line = match (numbers.below(12), depth) {
            (0 | 1, 0) | (_, 0) => {
                depth = 1;
                format!("static {} {a}_{b}(struct {c} *{b}, size_t {a})\n{{", numbers.pick(TYPES))
            }
            (0, _) => format!("{indent}/* The {a} of the {b} is held until its {c} is gone. */"),
            (1, _) if depth < 4 => {
                depth += 1;
                format!("{indent}if ({a}->{b} > {}) {{", numbers.below(4_096))
            }
            (2 | 3, _) => {
                depth -= 1;
                format!("{}}}{}", "\t".repeat(depth), if depth == 0 { "\n" } else { "" })
            }
            (4, _) => format!("{indent}return {a}_{b}({c}, {});", numbers.below(100)),
            (5, _) => format!("{indent}pr_debug(\"{a}: {b} %d of \\\"{c}\\\"\\n\", {a}->{c});"),
            (6, _) => String::new(),
            _ => format!("{indent}{a}->{b} = {c}_{a}({b}, {c}->{a} + {});", numbers.below(1_024)),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Exactly so many bytes.
pub(crate) fn exactly(seed: u64, bytes: usize) -> String {
    let mut text = source(&mut Numbers::new(seed), bytes);
    text.truncate(bytes - 1);
    text.push('\n');
    text
}
