//! The trait that every runtime implements.

use std::time::Duration;

use futures::stream::BoxStream;

use super::error::RuntimeError;
use super::instance::{Changed, Instance, LogOptions};
use super::spec::Spec;

/// What holds agents. Every method is safe to repeat.
#[async_trait::async_trait]
pub trait Runtime: Send + Sync + std::fmt::Debug {
    /// `docker` or `process`.
    fn name(&self) -> &'static str;

    /// Whether agents are kept from the host and from each other.
    fn isolated(&self) -> bool;

    /// Hash of everything in `spec` that a running instance cannot pick up by itself.
    fn spec_hash(&self, spec: &Spec) -> String;

    /// Makes the instance without starting it and returns its id; an existing one with the same
    /// agent id and spec hash is returned as it is, any other of the same name is refused.
    async fn create(&self, spec: &Spec) -> Result<String, RuntimeError>;

    /// Starts a created or exited instance; running already is success.
    async fn start(&self, id: &str) -> Result<(), RuntimeError>;

    /// TERM, `grace`, KILL, of everything in it; not running already is success.
    async fn stop(&self, id: &str, grace: Duration) -> Result<(), RuntimeError>;

    /// Removes it and all that the runtime keeps of it; gone already is success.
    async fn remove(&self, id: &str) -> Result<(), RuntimeError>;

    /// Every instance of this hive, running or not.
    async fn list(&self) -> Result<Vec<Instance>, RuntimeError>;

    /// The instance's output, oldest line first.
    async fn logs(
        &self,
        id: &str,
        options: LogOptions,
    ) -> Result<BoxStream<'static, Result<String, RuntimeError>>, RuntimeError>;

    /// Changes as they happen; ends when the runtime goes away. A missed one is found by polling.
    async fn events(&self) -> Result<BoxStream<'static, Changed>, RuntimeError>;
}
