//! Writing.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use serde::Serialize;
use serde_json::Value;

use super::Error;
use super::file::{Exchange, Head, Recorded, VERSION, request as readable};
use crate::output::Mask;
use crate::provider::{self, Boxed, Category, Drain, EventStream, Provider, Reply, Request, StreamEvent};

/// A directory that conversations are recorded in.
#[derive(Debug, Clone)]
pub struct Recorder {
    directory: PathBuf,
    mask: Mask,
}

impl Recorder {
    /// Makes the directory if need be. What is in it stays.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn new(directory: PathBuf, mask: Mask) -> Result<Self, Error> {
        match std::fs::create_dir_all(&directory) {
            Ok(()) => Ok(Self { directory, mask }),
            Err(source) => Err(Error::Io { doing: "cannot make the directory", path: directory, source }),
        }
    }

    /// The same provider, with all that it answers written down.
    ///
    /// # Errors
    /// The operating system refuses a new file.
    pub fn record(
        &self,
        agent: &str,
        model: &str,
        user: &str,
        provider: Box<dyn Provider>,
    ) -> Result<Box<dyn Provider>, Error> {
        let (path, file) = self.create(agent)?;
        let tape = Tape { path: path.clone(), file: Mutex::new(file), mask: self.mask.clone() };
        let head = Head {
            version: VERSION,
            agent: agent.to_owned(),
            model: model.to_owned(),
            user: self.mask.apply_to_kept(user),
        };
        tape.write(&head).map_err(|source| Error::Io { doing: "cannot write", path, source })?;
        Ok(Box::new(Recording { provider, tape: Arc::new(tape) }))
    }

    /// A file of its own for each conversation, numbered as they begin.
    fn create(&self, agent: &str) -> Result<(PathBuf, File), Error> {
        let mut number = 1_u64;
        loop {
            let path = self.directory.join(format!("{agent}-{number:04}.jsonl"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(source) => return Err(Error::Io { doing: "cannot make the file", path, source }),
            }
        }
    }
}

/// The file of one conversation.
struct Tape {
    path: PathBuf,
    file: Mutex<File>,
    mask: Mask,
}

impl Tape {
    /// Writes a line at once, so that a run that is killed leaves what it had.
    fn write(&self, line: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(line)? + "\n";
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes())
    }

    /// The same without keys. Texts are masked and not the line: a key that looks like JSON must not make it none.
    fn write_masked(&self, line: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_value(line)?;
        mask_texts(&mut line, &self.mask);
        self.write(&line)
    }

    /// A recording with a hole would replay as something that never was, so the run ends.
    fn keep(
        &self,
        request: &Request,
        result: Result<Reply, provider::Error>,
    ) -> Result<Reply, provider::Error> {
        let exchange = Exchange { request: readable(request), result: Recorded::of(&result) };
        self.write_masked(&exchange).map_err(|error| provider::Error {
            category: Category::BadRequest,
            message: format!("cannot write the recording {}: {error}", self.path.display()),
            status: None,
            retry_after: None,
        })?;
        result
    }
}

fn mask_texts(value: &mut Value, mask: &Mask) {
    match value {
        Value::String(text) => *text = mask.apply_to_kept(text),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_texts(item, mask)),
        Value::Object(members) => members.values_mut().for_each(|member| mask_texts(member, mask)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

struct Recording {
    provider: Box<dyn Provider>,
    tape: Arc<Tape>,
}

impl Provider for Recording {
    fn complete<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<Reply, provider::Error>> {
        Box::pin(async move { self.tape.keep(request, self.provider.complete(request).await) })
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<EventStream, provider::Error>> {
        Box::pin(async move {
            let events = match self.provider.stream(request).await {
                Ok(events) => events,
                Err(error) => return Err(self.tape.keep(request, Err(error.clone())).err().unwrap_or(error)),
            };
            let copy =
                Copy { drain: Some(Drain::default()), request: request.clone(), tape: self.tape.clone() };
            let events = events.scan(copy, |copy, event| std::future::ready(Some(copy.take(event))));
            Ok(Box::pin(events) as EventStream)
        })
    }
}

/// Gathers a stream's events until it is done or fails, and writes that down.
struct Copy {
    drain: Option<Drain>,
    request: Request,
    tape: Arc<Tape>,
}

impl Copy {
    fn take(&mut self, event: Result<StreamEvent, provider::Error>) -> Result<StreamEvent, provider::Error> {
        let result = match &event {
            Ok(event) => {
                let Some(drain) = &mut self.drain else { return Ok(event.clone()) };
                drain.push(event.clone());
                if !matches!(event, StreamEvent::Done { .. }) {
                    return Ok(event.clone());
                }
                self.drain.take().map_or_else(|| Ok(Reply::default()), Drain::finish)
            }
            Err(error) => Err(error.clone()),
        };
        self.tape.keep(&self.request, result)?;
        event
    }
}
