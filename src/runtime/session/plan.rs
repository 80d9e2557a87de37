//! What a request asks for, its arguments checked as far as that reads no file.

use axlr_protocol::Call;
use axlr_protocol::tool::{WorkspaceCloseArguments, WorkspaceOpenArguments};

use crate::actors::Work;
use crate::plugins::PluginCall;
use crate::runtime::control;
use crate::tools::{Edit, Error, Exec, List, Mutation, Read, Search, Write};

/// What is to be done for a request that may have to wait.
pub(super) enum Plan {
    Task(Task),
    Open(WorkspaceOpenArguments),
    List,
    Close(WorkspaceCloseArguments),
}

/// What an actor is to do.
pub(super) enum Task {
    Work(Work),
    Mutate(Box<Mutation>),
}

/// Control requests never wait in line.
pub(super) enum Planned {
    Control(Call),
    Plan(Plan),
}

/// Checks the arguments, as far as that reads no file, and tells control requests from the rest.
pub(super) fn plan(call: Call, stream: bool) -> Result<Planned, Error> {
    let work = match call {
        Call::Read(arguments) => Work::Read(Read::parse(arguments)?),
        Call::Write(arguments) => return Ok(mutation(Mutation::Write(Write::parse(arguments)?))),
        Call::Edit(arguments) => return Ok(mutation(Mutation::Edit(Edit::parse(arguments)?))),
        Call::Exec(arguments) => Work::Exec(Box::new(Exec::parse(arguments, stream)?), None),
        Call::Search(arguments) => Work::Search(Box::new(Search::parse(arguments)?)),
        Call::List(arguments) => Work::List(List::parse(arguments)?),
        Call::PluginsList(_) => Work::ListPlugins,
        Call::PluginsCall(arguments) => Work::CallPlugin(Box::new(PluginCall::parse(arguments)?)),
        Call::WorkspaceOpen(arguments) => {
            control::check_open(&arguments)?;
            return Ok(Planned::Plan(Plan::Open(arguments)));
        }
        Call::WorkspaceList(_) => return Ok(Planned::Plan(Plan::List)),
        Call::WorkspaceClose(arguments) => return Ok(Planned::Plan(Plan::Close(arguments))),
        Call::ServerPing(_)
        | Call::ServerInfo(_)
        | Call::ServerStats(_)
        | Call::ServerStop(_)
        | Call::RequestCancel(_)
        | Call::ExecWrite(_)
        | Call::ExecSignal(_) => return Ok(Planned::Control(call)),
    };
    Ok(Planned::Plan(Plan::Task(Task::Work(work))))
}

fn mutation(mutation: Mutation) -> Planned {
    Planned::Plan(Plan::Task(Task::Mutate(Box::new(mutation))))
}
