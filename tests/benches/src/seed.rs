//! A database with a past, made by the broker's own store while no broker runs.

use std::path::Path;

use anyhow::Result;
use hive_proto::ids::{AgentId, Epoch};
use hive_proto::v1::{FailureClass, Outcome, Role};
use hived::clock::Clock;
use hived::model::outcome::TurnEnd;
use hived::settle::{Onward, Seen, settle};
use hived::shutdown::Tasks;
use hived::store::agents::{self, Desired, NewAgent};
use hived::store::messages::{self, NewMessage};
use hived::store::turns::{self, Ended, Usage};
use hived::store::{Recipient, Store, StoreError, Tx};

/// Messages of one turn.
const TURN: usize = 32;
/// Turns of one transaction.
const TURNS: usize = 32;

/// Adds stopped agents `past-0` and so on to the database in `home`.
///
/// # Errors
/// When the store cannot be written.
pub async fn agents(home: &Path, count: usize) -> Result<Vec<AgentId>> {
    let store = open(home)?;
    Ok(store
        .write(move |tx| (0..count).map(|n| stopped(tx, n)).collect())
        .await?)
}

/// Adds so many messages that were received and acked, with their turns and events, to the database
/// in `home`.
///
/// # Errors
/// When the store cannot be written.
pub async fn messages(home: &Path, count: usize) -> Result<()> {
    let ids = agents(home, 10).await?;
    let store = open(home)?;
    let groups = count.div_ceil(TURN * TURNS);
    for group in 0..groups {
        let agent = ids[group % ids.len()];
        store
            .write(move |tx| (0..TURNS).try_for_each(|_| worked_off(tx, agent)))
            .await?;
    }
    Ok(())
}

fn open(home: &Path) -> Result<Store> {
    std::fs::create_dir_all(home.join("backups"))?;
    Ok(Store::open(home, Clock::system(), Tasks::default())?)
}

fn stopped(tx: &mut Tx<'_>, n: usize) -> Result<AgentId, StoreError> {
    let new = NewAgent {
        name: format!("past-{n}")
            .parse()
            .map_err(|_| StoreError::Stopped)?,
        role: Role::Agent,
        parent: None,
        engine: "scripted".to_owned(),
        model: "none".to_owned(),
        image: String::new(),
        role_prompt: String::new(),
        script: String::new(),
        config_sha: String::new(),
    };
    let id = agents::insert(tx, &new)?.id;
    agents::set_desired(tx, id, Desired::Stopped)?;
    Ok(id)
}

/// One turn's worth of messages, from the operator to `agent`.
fn worked_off(tx: &mut Tx<'_>, agent: AgentId) -> Result<(), StoreError> {
    let body = "x".repeat(200);
    for _ in 0..TURN {
        let new = NewMessage {
            from: "operator",
            from_id: None,
            to: Recipient::Agent(agent),
            body: &body,
            in_reply_to: None,
            key: None,
        };
        messages::insert(tx, &new)?;
    }
    let epoch = Epoch(1);
    messages::lease(tx, agent, epoch, TURN as u32, |tx, first| {
        turns::open(tx, agent, epoch, first)
    })?;
    let turn = turns::current(tx.conn(), agent)?.ok_or(StoreError::Stopped)?;
    let end = TurnEnd::reported(Outcome::Ok, FailureClass::Unspecified);
    let ended = Ended {
        end: end.map_err(|_| StoreError::Stopped)?,
        detail: String::new(),
        usage: Usage::default(),
        model: String::new(),
    };
    settle(tx, &turn, &ended, &Seen::All, Onward::Rest)
}
