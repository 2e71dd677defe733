//! Writes one event `model.call` a call, behind the call's back: a call never waits for the disk.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc::{self, error::TrySendError};
use tracing::warn;

use super::metered::{Ended, ModelCall, UsageSink};
use crate::model::event::Kind;
use crate::shutdown::Tasks;
use crate::store::Store;
use crate::store::events::{self, About};

/// Calls that wait for the store; more are not recorded, and the log says so.
const WAITING: usize = 4096;

/// A sink that records every call as an event.
#[must_use]
pub fn recorder(store: Store, tasks: &Tasks) -> UsageSink {
    let (sender, receiver) = mpsc::channel(WAITING);
    tasks.spawn("model-calls", drain(store, receiver, tasks.stopping()));
    Arc::new(move |call: ModelCall| match sender.try_send(call) {
        Ok(()) => {}
        Err(TrySendError::Full(call) | TrySendError::Closed(call)) => {
            warn!(agent.id = %call.agent, "a model call was not recorded");
        }
    })
}

async fn drain(
    store: Store,
    mut calls: mpsc::Receiver<ModelCall>,
    stopping: tokio_util::sync::CancellationToken,
) {
    loop {
        let call = tokio::select! {
            call = calls.recv() => call,
            () = stopping.cancelled() => break,
        };
        let Some(call) = call else { return };
        record(&store, call).await;
    }
    while let Ok(call) = calls.try_recv() {
        record(&store, call).await;
    }
}

async fn record(store: &Store, call: ModelCall) {
    let agent = call.agent;
    let written = store.write(move |tx| {
        events::append(tx, Kind::ModelCall, About::agent(call.agent), &data(&call))
    });
    if let Err(error) = written.await {
        warn!(agent.id = %agent, %error, "a model call was not recorded");
    }
}

fn data(call: &ModelCall) -> Value {
    json!({
        "model": call.model,
        "status": call.status,
        "ended": match call.ended {
            Ended::Whole => "whole",
            Ended::CutByUpstream => "cut_by_upstream",
            Ended::CutByAgent => "cut_by_agent",
        },
        "began_at_ms": call.at.0,
        "input_tokens": call.tokens.input,
        "output_tokens": call.tokens.output,
        "cache_read_tokens": call.tokens.cache_read,
        "cache_write_tokens": call.tokens.cache_write,
    })
}
