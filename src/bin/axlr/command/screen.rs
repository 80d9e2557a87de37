//! Stdout and stderr, which may be terminals or not.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;

/// Where a command prints.
pub(super) struct Screen {
    pub(super) out: BufWriter<Stdout>,
    pub(super) look: Look,
    progress: Progress,
}

/// How to print for whoever looks at stdout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) palette: Palette,
    /// Whether it is a person.
    pub(super) is_terminal: bool,
}

impl Look {
    /// A line of text that is somebody else's, a file's name or content: a terminal is not handed its control characters.
    pub(super) fn foreign<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.without(text, |character| character.is_control() && character != '\t')
    }

    /// The same for text of several lines.
    pub(super) fn foreign_lines<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.without(text, |character| character.is_control() && !matches!(character, '\t' | '\n'))
    }

    fn without<'a>(&self, text: &'a str, is_unwanted: fn(char) -> bool) -> Cow<'a, str> {
        if !self.is_terminal || !text.contains(is_unwanted) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace(is_unwanted, "\u{fffd}"))
    }
}

/// How things look; on anything but a terminal they are all plain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    pub(super) path: Style,
    pub(super) number: Style,
    pub(super) found: Style,
    pub(super) strong: Style,
    pub(super) faint: Style,
}

impl Palette {
    pub(super) const PLAIN: Palette = Palette {
        path: Style::new(),
        number: Style::new(),
        found: Style::new(),
        strong: Style::new(),
        faint: Style::new(),
    };

    pub(super) const COLOURED: Palette = Palette {
        path: AnsiColor::Magenta.on_default(),
        number: AnsiColor::Green.on_default(),
        found: AnsiColor::Red.on_default().bold(),
        strong: Style::new().bold(),
        faint: Style::new().dimmed(),
    };

    /// Source: no-color.org.
    fn of_terminal(is_terminal: bool) -> Palette {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_terminal && !is_set("NO_COLOR") && !is_dumb { Palette::COLOURED } else { Palette::PLAIN }
    }
}

impl Screen {
    pub(super) fn open() -> Screen {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        Screen {
            look: Look { palette: Palette::of_terminal(is_terminal), is_terminal },
            out: BufWriter::with_capacity(64 * 1024, stdout),
            progress: Progress { is_terminal: io::stderr().is_terminal(), is_shown: false },
        }
    }

    /// Shows what was printed.
    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        self.out.flush().context("stdout can't be written")
    }

    /// Says for a moment how far it is, where a person looks at stderr.
    pub(super) fn progress(&mut self, text: &str) {
        self.progress.show(text);
    }

    /// Makes room for output.
    pub(super) fn clear_progress(&mut self) {
        self.progress.clear();
    }

    /// A line for the person, not for the pipe.
    pub(super) fn note(&mut self, text: &str) {
        let _ = self.out.flush();
        self.progress.clear();
        // Nobody who looks is no reason to stop.
        let _ = writeln!(io::stderr(), "axlr: {text}");
    }

    /// A line that only a person who looks on wants: a summary, say.
    pub(super) fn remark(&mut self, text: &str) {
        if self.progress.is_terminal {
            self.note(text);
        }
    }
}

/// One line on stderr that is written over.
struct Progress {
    is_terminal: bool,
    is_shown: bool,
}

/// To the first column, and clear to the end of the line.
const CLEAR_LINE: &str = "\r\x1b[K";

impl Progress {
    fn show(&mut self, text: &str) {
        if self.is_terminal {
            self.is_shown = true;
            let _ = write!(io::stderr(), "{CLEAR_LINE}{text}");
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr(), "{CLEAR_LINE}");
        }
    }
}
