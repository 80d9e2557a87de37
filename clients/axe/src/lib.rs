//! axe, the agent runner: agents are small TOML files, run from the shell, bounded in tokens and reach.
//!
//! It is a client of the runtime: its file and command tools are requests to a running `axlrd`, or to one that it
//! starts for itself. Confinement, atomic writes, containment of programs and caps come from there.
//!
//! | room | what it holds | it never hears of |
//! |---|---|---|
//! | [`agent`] | the turn loop, sub-agents, the budget | what is printed |
//! | [`tools`] | the built-in tools, as requests to the runtime and to the web | models, agents |
//! | [`mcp`] | tools of MCP servers | models, agents |
//! | [`runtime`] | the way to `axlrd`, started at need | tools |
//! | [`record`] | recorded runs, played without a model | agents |
//! | [`net`] | the way out: the guard, connectors, `url_fetch` and `web_search` | agents |
//! | [`provider`] | one file a model provider, each turning its own wire format into one [`provider::Reply`] | agents |
//! | [`config`] | axe's own files: agents, skills, `config.toml`, directories | models being asked, the runtime |
//! | [`prompt`] | what a model is told, and whether it refused | where files come from |
//! | [`memory`] | what agents remember, and `axe gc` | agents' other settings |
//! | [`output`] | what people and programs read: JSON, dry run, diagnostics, exit codes | how it came about |
//! | [`prepare`] | an agent put together, up to its first request | models being asked |
//! | [`retry`] | another try, after a while | agents |
//! | [`secret`] | keys, and how they are kept out of sight | |
//! | [`cli`] | the command line, and what each command is made of | |

pub mod agent;
pub mod cli;
pub mod config;
pub mod limits;
pub mod mcp;
pub mod memory;
pub mod net;
pub mod output;
pub mod prepare;
pub mod prompt;
pub mod provider;
pub mod record;
pub mod retry;
pub mod runtime;
pub mod secret;
mod text;
pub mod tools;
