//! Reading back.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use futures_util::stream;

use super::Error;
use super::file::{Exchange, Head, VERSION};
use crate::output::Mask;
use crate::provider::{
    self, Arguments, Boxed, Category, EventStream, Provider, Reply, Request, StreamEvent, ToolCall,
};

/// The recordings of a directory. Each is played once.
#[derive(Debug)]
pub struct Player {
    directory: PathBuf,
    mask: Mask,
    recordings: Mutex<Vec<Recording>>,
}

#[derive(Debug)]
struct Recording {
    head: Head,
    exchanges: VecDeque<Exchange>,
}

impl Player {
    /// Reads all recordings of the directory, in the order of their names.
    ///
    /// # Errors
    /// The directory or a file in it can't be read, or a file is no recording.
    pub fn new(directory: PathBuf, mask: Mask) -> Result<Self, Error> {
        let failed =
            |source| Error::Io { doing: "cannot read the recordings in", path: directory.clone(), source };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                paths.push(path);
            }
        }
        paths.sort();
        let recordings = paths.iter().map(|path| Recording::read(path)).collect::<Result<_, _>>()?;
        Ok(Self { directory, mask, recordings: Mutex::new(recordings) })
    }

    /// A provider that says what the first recording of the agent and message says that was not played yet.
    ///
    /// # Errors
    /// There is none.
    pub fn play(&self, agent: &str, user: &str) -> Result<Box<dyn Provider>, Error> {
        // As it was written.
        let user = self.mask.apply_to_kept(user);
        let mut recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        let found = recordings.iter().position(|known| known.head.agent == agent && known.head.user == user);
        match found {
            Some(position) => Ok(Box::new(Playing(Mutex::new(recordings.remove(position).exchanges)))),
            None => Err(Error::Missing { path: self.directory.clone(), agent: agent.to_owned() }),
        }
    }
}

impl Recording {
    fn read(path: &Path) -> Result<Self, Error> {
        let malformed = |line, detail: String| Error::Malformed { path: path.to_owned(), line, detail };
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
            doing: "cannot read",
            path: path.to_owned(),
            source,
        })?;
        let mut lines = text.lines();
        let head: Head = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| malformed(1, error.to_string()))?;
        if head.version != VERSION {
            return Err(malformed(
                1,
                format!("its version is {}, and this axe knows {VERSION}", head.version),
            ));
        }
        let exchange = |(position, line)| {
            serde_json::from_str(line)
                .map_err(|error: serde_json::Error| malformed(position + 2, error.to_string()))
        };
        Ok(Self { head, exchanges: lines.enumerate().map(exchange).collect::<Result<_, _>>()? })
    }
}

/// What is left of one conversation.
struct Playing(Mutex<VecDeque<Exchange>>);

impl Playing {
    fn next(&self) -> Result<Reply, provider::Error> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let exhausted = || provider::Error {
            category: Category::BadRequest,
            message: "the recording holds no further reply; record the run again".to_owned(),
            status: None,
            retry_after: None,
        };
        next.ok_or_else(exhausted)?.result.result()
    }
}

impl Provider for Playing {
    fn complete<'a>(&'a self, _: &'a Request) -> Boxed<'a, Result<Reply, provider::Error>> {
        Box::pin(std::future::ready(self.next()))
    }

    fn stream<'a>(&'a self, _: &'a Request) -> Boxed<'a, Result<EventStream, provider::Error>> {
        let events =
            self.next().map(|reply| Box::pin(stream::iter(events(reply).into_iter().map(Ok))) as EventStream);
        Box::pin(std::future::ready(events))
    }
}

/// The events that a streamed reply would have come in.
fn events(reply: Reply) -> Vec<StreamEvent> {
    let Reply { text, calls, stop_reason, usage, is_refusal, .. } = reply;
    let text = (!text.is_empty()).then_some(StreamEvent::Text(text));
    let calls = calls.into_iter().flat_map(|ToolCall { id, name, arguments }| {
        let input = match arguments {
            Arguments::Object(members) => serde_json::Value::Object(members).to_string(),
            Arguments::Malformed(text) => text,
        };
        [StreamEvent::ToolStart { id: id.clone(), name, input }, StreamEvent::ToolEnd { id }]
    });
    let done = StreamEvent::Done { stop_reason, usage, is_refusal };
    text.into_iter().chain(calls).chain([done]).collect()
}
