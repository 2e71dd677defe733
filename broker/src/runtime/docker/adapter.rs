//! The seam's implementation: calls to the engine, each mapped to what it means for an agent.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, EventsOptionsBuilder, ListContainersOptionsBuilder,
    LogsOptionsBuilder, RemoveContainerOptionsBuilder, StopContainerOptionsBuilder,
};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

use super::errors::{NAME, code, map, unavailable};
use super::mounts::Host;
use super::request::{self, LABEL_HIVE, LABEL_SPEC};
use super::summary;
use crate::paths::Paths;
use crate::runtime::{Changed, Exit, Instance, LogOptions, Runtime, RuntimeError, Spec, Status};

const DEFAULT_HOST: &str = "unix:///var/run/docker.sock";
const SCHEME: &str = "unix://";

/// Containers of the engine behind one socket.
#[derive(Clone, Debug)]
pub struct Docker(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hive: String,
    socket: PathBuf,
    host: Host,
    /// None until the engine has answered once: only then its version is known.
    engine: Mutex<Option<bollard::Docker>>,
    /// How containers ended, by id: the list does not say whether memory ran out.
    exits: Mutex<HashMap<String, Exit>>,
}

// === impl Docker ===

impl Docker {
    /// The engine at `host` (`unix:///path`; empty: `DOCKER_HOST`, else Docker's own default), which
    /// need not be there yet.
    ///
    /// # Errors
    /// When `host` is no local socket.
    pub fn new(host: &str, paths: Paths, hive_id: String) -> Result<Self, String> {
        let named = Some(host.to_owned()).filter(|host| !host.is_empty());
        let host = named
            .or_else(|| std::env::var("DOCKER_HOST").ok())
            .filter(|host| !host.is_empty())
            .unwrap_or_else(|| DEFAULT_HOST.to_owned());
        let Some(path) = host.strip_prefix(SCHEME) else {
            return Err(format!(
                "{host} is not a local socket ({SCHEME}/path): a remote engine cannot mount this host's files"
            ));
        };
        let socket = PathBuf::from(path);
        Ok(Self(Arc::new(Inner {
            hive: hive_id,
            host: Host::new(paths, socket.clone()),
            socket,
            engine: Mutex::default(),
            exits: Mutex::default(),
        })))
    }

    /// The client, once the engine's version is agreed.
    async fn engine(&self) -> Result<bollard::Docker, RuntimeError> {
        let known = lock(&self.0.engine).clone();
        if let Some(engine) = known {
            return Ok(engine);
        }
        let address = format!("{SCHEME}{}", self.0.socket.display());
        let engine = bollard::Docker::connect_with_host(&address)
            .map_err(|error| unavailable(&error))?
            .negotiate_version()
            .await
            .map_err(|error| unavailable(&error))?;
        *lock(&self.0.engine) = Some(engine.clone());
        Ok(engine)
    }

    /// Whether the container of that name is this agent's and made from the same spec.
    async fn existing(&self, spec: &Spec) -> Result<String, RuntimeError> {
        let name = request::name(spec);
        let engine = self.engine().await?;
        let found = engine
            .inspect_container(&name, None)
            .await
            .map_err(|error| map(&error, &name))?;
        let labels = found.config.and_then(|config| config.labels);
        let labels = labels.unwrap_or_default();
        let ours = labels.get(LABEL_HIVE) == Some(&self.0.hive)
            && summary::agent(&labels) == Some(spec.agent_id)
            && labels.get(LABEL_SPEC) == Some(&request::hash(spec));
        match found.id {
            Some(id) if ours => Ok(id),
            Some(_) | None => Err(RuntimeError::NameTaken(format!("a container {name}"))),
        }
    }

    /// How an ended container ended; asked for once.
    async fn exit(&self, engine: &bollard::Docker, id: &str, exit: &Exit) -> Exit {
        if let Some(known) = lock(&self.0.exits).get(id) {
            return known.clone();
        }
        let Ok(found) = engine.inspect_container(id, None).await else {
            return exit.clone();
        };
        let state = found.state.unwrap_or_default();
        let exit = Exit {
            code: state.exit_code.unwrap_or(exit.code),
            out_of_memory: state.oom_killed.unwrap_or_default(),
        };
        lock(&self.0.exits).insert(id.to_owned(), exit.clone());
        exit
    }

    fn filters(&self) -> HashMap<String, Vec<String>> {
        let label = format!("{LABEL_HIVE}={}", self.0.hive);
        HashMap::from([("label".to_owned(), vec![label])])
    }
}

#[async_trait::async_trait]
impl Runtime for Docker {
    fn name(&self) -> &'static str {
        NAME
    }

    fn isolated(&self) -> bool {
        true
    }

    fn spec_hash(&self, spec: &Spec) -> String {
        request::hash(spec)
    }

    async fn create(&self, spec: &Spec) -> Result<String, RuntimeError> {
        let mut resolved = request::create(&self.0.host.check(spec)?);
        // The hash is of the spec as it is asked for, not of where its links lead.
        let labels = resolved.labels.get_or_insert_default();
        labels.insert(LABEL_SPEC.into(), request::hash(spec));
        let engine = self.engine().await?;
        let name = request::name(spec);
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        match engine.create_container(Some(options), resolved).await {
            Ok(created) => Ok(created.id),
            Err(error) => match code(&error) {
                Some(404) => Err(RuntimeError::NoImage(spec.image.clone())),
                Some(409) => self.existing(spec).await,
                _ => Err(map(&error, &name)),
            },
        }
    }

    async fn start(&self, id: &str) -> Result<(), RuntimeError> {
        let engine = self.engine().await?;
        lock(&self.0.exits).remove(id);
        unless(304, engine.start_container(id, None).await, id)
    }

    async fn stop(&self, id: &str, grace: Duration) -> Result<(), RuntimeError> {
        let engine = self.engine().await?;
        // A frozen container hears no signal; one that is not frozen refuses, which is fine.
        let _ = engine.unpause_container(id).await;
        let secs = i32::try_from(grace.as_secs()).unwrap_or(i32::MAX);
        let options = StopContainerOptionsBuilder::new().t(secs).build();
        unless(304, engine.stop_container(id, Some(options)).await, id)
    }

    async fn remove(&self, id: &str) -> Result<(), RuntimeError> {
        let engine = self.engine().await?;
        lock(&self.0.exits).remove(id);
        let options = RemoveContainerOptionsBuilder::new()
            .force(true)
            .v(true)
            .build();
        match engine.remove_container(id, Some(options)).await {
            // 409: its removal is under way.
            Err(error) if matches!(code(&error), Some(404 | 409)) => Ok(()),
            other => other.map_err(|error| map(&error, id)),
        }
    }

    async fn list(&self) -> Result<Vec<Instance>, RuntimeError> {
        let engine = self.engine().await?;
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&self.filters())
            .build();
        // Whatever goes wrong here, nobody knows what runs.
        let listed = engine.list_containers(Some(options)).await;
        let listed = listed.map_err(|error| unavailable(&error))?;
        let mut instances: Vec<Instance> =
            listed.into_iter().filter_map(summary::instance).collect();
        for instance in &mut instances {
            match &instance.status {
                Status::Exited(exit) => {
                    let exit = self.exit(&engine, &instance.id, exit).await;
                    instance.status = Status::Exited(exit);
                }
                Status::Created | Status::Running | Status::Frozen => {
                    lock(&self.0.exits).remove(&instance.id);
                }
            }
        }
        Ok(instances)
    }

    async fn logs(
        &self,
        id: &str,
        options: LogOptions,
    ) -> Result<BoxStream<'static, Result<String, RuntimeError>>, RuntimeError> {
        let engine = self.engine().await?;
        // Asked first: the stream itself would only end early.
        engine
            .inspect_container(id, None)
            .await
            .map_err(|error| map(&error, id))?;
        let options = LogsOptionsBuilder::new()
            .stdout(true)
            .stderr(true)
            .follow(options.follow)
            .tail(&options.tail.to_string())
            .build();
        let id = id.to_owned();
        let lines = engine.logs(&id, Some(options)).flat_map(move |piece| {
            let lines = piece.map(split).map_err(|error| map(&error, &id));
            stream::iter(match lines {
                Ok(lines) => lines.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            })
        });
        Ok(lines.boxed())
    }

    async fn events(&self) -> Result<BoxStream<'static, Changed>, RuntimeError> {
        let engine = self.engine().await?;
        let mut filters = self.filters();
        filters.insert("type".into(), vec!["container".into()]);
        let options = EventsOptionsBuilder::new().filters(&filters).build();
        let events = engine
            .events(Some(options))
            .take_while(|event| std::future::ready(event.is_ok()))
            .filter_map(|event| {
                let event = event.ok();
                std::future::ready(event.and_then(|event| {
                    let labels = event.actor?.attributes?;
                    Some(Changed {
                        agent_id: summary::agent(&labels)?,
                        what: event.action?,
                    })
                }))
            });
        Ok(events.boxed())
    }
}

/// Success also when the engine says that there was nothing to do.
fn unless(nothing: u16, done: Result<(), Error>, id: &str) -> Result<(), RuntimeError> {
    match done {
        Err(error) if code(&error) == Some(nothing) => Ok(()),
        other => other.map_err(|error| map(&error, id)),
    }
}

fn split(piece: LogOutput) -> Vec<String> {
    let text = String::from_utf8_lossy(&piece.into_bytes()).into_owned();
    text.lines().map(str::to_owned).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
