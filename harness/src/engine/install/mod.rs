//! Installs engines into `$HIVE_HOME/engines/<name>/<version>/`, from the npm registry or a file.
//!
//! - `catalog`: which engines can be installed, and the hashes of the pinned versions
//! - `npm`: the npm client, which knows registries, proxies and mirrors better than hive does
//! - `archive`, `digest`: the one file that is taken out, and what it is checked for
//! - `shelf`: the directory, its lock, and how a version appears in it in one step
//! - [`request`]: what is asked for; [`run`]: the steps

mod archive;
mod catalog;
mod digest;
mod error;
mod npm;
mod request;
mod run;
mod shelf;

pub use error::InstallError;
pub use request::{Request, Source};
pub use run::{Done, Step, install};
