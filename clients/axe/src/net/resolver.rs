//! Names to addresses.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// What a resolver answers with, in time.
pub type Answer<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Turns a name into all of its addresses.
pub trait Resolver: Send + Sync {
    /// All IPv4 and IPv6 addresses of `host`, in the order in which they are to be tried.
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a>;
}

/// The system's own: hosts file, DNS, whatever the C library is told to ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a> {
        Box::pin(async move {
            // The port is of no interest: the URL's own is used.
            Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
        })
    }
}
