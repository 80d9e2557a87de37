//! axe, the agent runner: agents are small TOML files, run from the shell, bounded in tokens and reach.
//!
//! It is a client of the runtime: its file and command tools are requests to a running `axlrd`, or to one that it
//! starts for itself. Confinement, atomic writes, containment of programs and caps come from there.
//!
//! | room | what it holds |
//! |---|---|
//! | [`net`] | the way out: the guard, connectors, `url_fetch` and `web_search` |
//! | [`provider`] | one file a model provider, each turning its own wire format into one [`provider::Reply`] |
//! | [`retry`] | another try, after a while |
//! | [`secret`] | keys, and how they are kept out of sight |

pub mod net;
pub mod provider;
pub mod retry;
pub mod secret;
