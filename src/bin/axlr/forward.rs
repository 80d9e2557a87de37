//! One request on stdin, answered by a daemon, with the same contract.
//!
//! Source: SPEC §2.1.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use axlr::runtime::ByPlugin;
use axlr::runtime::plugin_sources::Collected;
use axlr_client::connect_blocking;
use axlr_protocol::codec::{self, AnyResponse, CodecError, Message};
use axlr_protocol::frame::{Decoder, Frame};
use axlr_protocol::tool::{RequestCancelArguments, StringMap, WorkspaceOpenArguments, WorkspaceOpenOutput};
use axlr_protocol::{Call, Code, Encoding, ErrorBody, Request, limits};
use rustix::event::{PollFd, PollFlags, poll};

use crate::command::no_daemon;
use crate::flags::WorkerFlags;
use crate::{signals, worker};

#[cfg(test)]
mod tests;

/// The id under which the root is opened. It may be that of the request too, which is sent when this was answered.
const OPEN_ID: &str = "workspace.open";

/// Hands the request to the daemon on `socket` and returns the exit status.
pub(crate) fn run(flags: WorkerFlags, socket: &Path) -> anyhow::Result<u8> {
    let open = Call::WorkspaceOpen(settings(flags)?);
    let request = match worker::read_request()? {
        Ok(request) => request,
        Err(malformed) => return worker::answer(&worker::rejection(malformed)),
    };
    let stream = connect_blocking(socket).map_err(no_daemon)?;
    let signals = signals::as_stream().context("signals can't be heard")?;
    let mut daemon = Daemon { stream, decoder: Decoder::new(limits::FRAME_LENGTH_END as usize), signals };
    let (request_id, tool) = (request.request_id.clone(), request.call.tool());
    let refused = |error| worker::answer(&worker::at_once(request_id.clone(), Some(tool), error));

    daemon.send(&Request { request_id: OPEN_ID.to_owned(), workspace: None, stream: false, call: open })?;
    let opened = match daemon.wait(OPEN_ID)? {
        Heard::Response(opened, _) => opened,
        Heard::Signal => {
            let message = "cancelled before the request was sent to axlrd".to_owned();
            return refused(ErrorBody { code: Code::Cancelled, message });
        }
    };
    let workspace = match (opened.error, opened.output) {
        (None, Some(output)) => serde_json::from_value::<WorkspaceOpenOutput>(output)?.workspace,
        (Some(error), _) => match error.code {
            // Not the root's fault: the request itself is answered so.
            Code::Overloaded | Code::ShuttingDown | Code::InternalError => return refused(error),
            Code::InvalidManifest => bail!(error.message),
            code => bail!("--root: {} ({})", error.message, code.as_str()),
        },
        (None, None) => bail!("axlrd answered workspace.open with neither output nor error"),
    };
    daemon.send_within(request, workspace)?;
    let (response, line) = daemon.answer_to(&request_id)?;
    worker::write_whole(&line)?;
    Ok(worker::exit_status(response.error.as_ref()))
}

fn settings(mut flags: WorkerFlags) -> anyhow::Result<WorkspaceOpenArguments> {
    let plugins = flags.plugins().collect()?;
    let shown = flags.root().display().to_string();
    let root = std::path::absolute(flags.root()).with_context(|| format!("--root {shown}"))?;
    let metadata = std::fs::metadata(&root).with_context(|| format!("--root {shown}"))?;
    if !metadata.is_dir() {
        bail!("--root {shown}: not a directory");
    }
    let Ok(root) = root.into_os_string().into_string() else {
        bail!("--root {shown}: the name is not UTF-8, which a request to axlrd can't carry");
    };
    let env = worker::environment(flags.env, flags.env_file)?;
    Ok(WorkspaceOpenArguments { default: Some(true), ..complete(root, env, plugins)? })
}

/// The opening of a root with everything given, so that nothing of the daemon's own settings holds.
pub(crate) fn complete(
    root: String,
    env: BTreeMap<String, String>,
    plugins: Collected,
) -> anyhow::Result<WorkspaceOpenArguments> {
    let Collected { manifests, env: plugin_env, headers } = plugins;
    Ok(WorkspaceOpenArguments {
        root,
        name: None,
        env: Some(StringMap(env)),
        plugins: Some(manifests.into_iter().map(text).collect::<anyhow::Result<_>>()?),
        plugin_env: Some(by_plugin(plugin_env)),
        plugin_headers: Some(by_plugin(headers)),
        default: None,
    })
}

fn text(path: PathBuf) -> anyhow::Result<String> {
    let text = path.into_os_string().into_string();
    text.map_err(|name| {
        anyhow!("--plugin {}: the name is not UTF-8, which a request to axlrd can't carry", name.display())
    })
}

fn by_plugin(map: ByPlugin) -> BTreeMap<String, StringMap> {
    map.into_iter().map(|(id, values)| (id, StringMap(values))).collect()
}

/// The connection, in JSON.
struct Daemon {
    stream: UnixStream,
    decoder: Decoder,
    signals: UnixStream,
}

/// What was waited for.
enum Heard {
    /// The response, and its line as it came.
    Response(AnyResponse, Vec<u8>),
    Signal,
}

impl Daemon {
    fn send(&mut self, request: &Request) -> anyhow::Result<()> {
        let mut line = Vec::new();
        codec::request(Encoding::Json, request, &mut line)?;
        self.stream.write_all(&line).context("the request could not be sent to axlrd")
    }

    /// Sends the request with the member `workspace`, or without it where that would take it over the limit: what was
    /// opened is the connection's default too.
    fn send_within(&mut self, request: Request, workspace: String) -> anyhow::Result<()> {
        let within = Request { workspace: Some(workspace), ..request };
        let mut line = Vec::new();
        if let Err(CodecError::RequestTooLarge(_)) = codec::request(Encoding::Json, &within, &mut line) {
            return self.send(&Request { workspace: None, ..within });
        }
        self.send(&within)
    }

    /// Waits for the response; a signal cancels the request, whose response then still comes.
    fn answer_to(&mut self, request_id: &str) -> anyhow::Result<(AnyResponse, Vec<u8>)> {
        loop {
            match self.wait(request_id)? {
                Heard::Response(response, line) => return Ok((response, line)),
                Heard::Signal => {
                    let target = request_id.to_owned();
                    let call = Call::RequestCancel(RequestCancelArguments { request_id: target });
                    // Differs from the id that it cancels, and the daemon's answer is passed over.
                    let request_id = if request_id == "cancel" { "cancel-it" } else { "cancel" }.to_owned();
                    self.send(&Request { request_id, workspace: None, stream: false, call })?;
                }
            }
        }
    }

    fn wait(&mut self, request_id: &str) -> anyhow::Result<Heard> {
        loop {
            while let Some(frame) = self.decoder.next() {
                let Frame::Request(line) = frame else { bail!("axlrd sent a message that is too long") };
                let Message::Response(response) = codec::message(Encoding::Json, line)? else { continue };
                // Without an id: the daemon could not read what was sent, which was this.
                if response.request_id == request_id || response.request_id.is_empty() {
                    return Ok(Heard::Response(response, [line, b"\n"].concat()));
                }
            }
            if self.is_signalled()? {
                return Ok(Heard::Signal);
            }
            let mut chunk = [0; 64 * 1024];
            match self.stream.read(&mut chunk).context("the connection to axlrd broke")? {
                0 => bail!("axlrd ended the connection without an answer"),
                length => self.decoder.buffer().extend_from_slice(&chunk[..length]),
            }
        }
    }

    /// Waits until the daemon has something to say, or a signal has come. Each signal is told once.
    fn is_signalled(&mut self) -> anyhow::Result<bool> {
        loop {
            let mut watched =
                [PollFd::new(&self.stream, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            match poll(&mut watched, None) {
                // The handler has run, so the next look finds what it wrote.
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled.map_err(io::Error::from)?,
            };
            let is_signalled = !watched[1].revents().is_empty();
            if is_signalled {
                self.signals.read_exact(&mut [0])?;
            }
            return Ok(is_signalled);
        }
    }
}
