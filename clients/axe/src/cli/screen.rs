//! The last lines of a terminal on stderr: a spinner that says what goes on, or text as it is written.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How often the spinner turns.
const PERIOD: Duration = Duration::from_millis(100);
/// Its faces.
const FACES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// Longer ones would wrap on narrow terminals, and a wrapped line is not erased.
const STATUS_MAX_CHARS: usize = 60;
/// Back to the first column, and erase the line.
const ERASE: &str = "\r\x1b[K";

/// What stands at the end of the terminal. All that writes to it goes through here.
pub(super) struct Screen {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// None while there is no spinner.
    status: Option<String>,
    has_spinner: bool,
    face: usize,
    is_painted: bool,
    /// Whether text stands on the last line.
    is_in_line: bool,
}

impl Screen {
    /// Must be called within a tokio runtime when it has a spinner, which turns until the screen is dropped.
    pub(super) fn new(has_spinner: bool) -> Arc<Self> {
        let screen = Arc::new(Self { state: Mutex::new(State { has_spinner, ..State::default() }) });
        if has_spinner {
            tokio::spawn(turn(Arc::downgrade(&screen)));
        }
        screen
    }

    /// Says what goes on.
    pub(super) fn show(&self, status: String) {
        let mut state = self.lock();
        if state.has_spinner {
            state.status = Some(status.chars().take(STATUS_MAX_CHARS).collect());
        }
    }

    /// Writes text as it comes.
    pub(super) fn text(&self, text: &str) {
        let mut state = self.lock();
        state.clear();
        write(text);
        state.is_in_line = !text.ends_with('\n');
    }

    /// What is written next begins a line.
    pub(super) fn end_text(&self) {
        self.lock().end_line();
    }

    /// Lets somebody else write whole lines.
    pub(super) fn around(&self, write: impl FnOnce()) {
        let mut state = self.lock();
        state.clear();
        state.end_line();
        write();
    }

    /// Nothing goes on any more.
    pub(super) fn rest(&self) {
        let mut state = self.lock();
        state.status = None;
        state.clear();
        state.end_line();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn paint(&mut self) {
        if let Some(status) = self.status.as_ref().filter(|_| !self.is_in_line) {
            self.face = (self.face + 1) % FACES.len();
            write(&format!("{ERASE}{} {status}", FACES[self.face]));
            self.is_painted = true;
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_painted) {
            write(ERASE);
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_in_line) {
            write("\n");
        }
    }
}

async fn turn(screen: Weak<Screen>) {
    loop {
        tokio::time::sleep(PERIOD).await;
        let Some(screen) = screen.upgrade() else { return };
        screen.lock().paint();
    }
}

/// A terminal that takes nothing is no reason to end.
fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
