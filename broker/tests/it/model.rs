//! DL8, F11: the real store against a small model of one mailbox, over random histories of sends,
//! polls, ends, deaths, stops, lost replies, clock ticks and restarts of the broker. 256 histories, or
//! as many as PROPTEST_CASES says.

use std::collections::{BTreeMap, HashMap};

use hive_proto::ids::{Epoch, MessageId, TurnId};
use hive_proto::v1::{FailureClass, MessageState, Outcome};
use hived::inbox::{Novelty, RecvArgs, Sender, Take};
use hived::model::message::Delivery;
use hived::model::outcome::Loss;
use hived::turns::{Ending, TurnError};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::kit::{Core, ids, keyed, outgoing, secs};

#[derive(Clone, Copy, Debug)]
enum Op {
    Send {
        from: usize,
    },
    SendKeyed {
        from: usize,
        key: u8,
    },
    /// Poll for a turn; `lost`: the reply does not arrive.
    Recv {
        max: u32,
        lost: bool,
    },
    Join {
        max: u32,
    },
    End(How),
    EndAgain,
    StaleEnd,
    HarnessDies,
    AgentStops,
    BrokerRestarts,
    ReviveDead,
    Tick {
        secs: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum How {
    Ok,
    Park,
    Transient,
    Final,
}

// === the model ===

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Queued { from: u64 },
    Leased,
    Acked,
    Dead,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    state: State,
    attempt: u32,
    again: bool,
}

#[derive(Debug, Default)]
struct Model {
    rows: BTreeMap<MessageId, Row>,
    keys: HashMap<(usize, u8), MessageId>,
    now: u64,
}

impl Model {
    fn pop(&mut self, max: u32) -> Vec<MessageId> {
        let now = self.now;
        let queued = self
            .rows
            .iter_mut()
            .filter_map(|(id, row)| match row.state {
                State::Queued { from } => Some((*id, row, from <= now)),
                State::Leased | State::Acked | State::Dead => None,
            });
        let due: Vec<_> = queued
            .take_while(|(.., due)| *due)
            .take(max as usize)
            .collect();
        due.into_iter()
            .map(|(id, row, _)| {
                row.state = State::Leased;
                id
            })
            .collect()
    }

    fn leased(&mut self) -> impl Iterator<Item = (&MessageId, &mut Row)> {
        self.rows
            .iter_mut()
            .filter(|(_, row)| row.state == State::Leased)
    }

    fn again(&mut self, max: u32) -> Vec<MessageId> {
        self.leased()
            .take(max as usize)
            .map(|(id, row)| {
                row.again = true;
                *id
            })
            .collect()
    }

    fn requeue(&mut self, deaths: u32, back_off: bool) {
        let now = self.now;
        for (_, row) in self.leased() {
            row.attempt += deaths;
            row.again = true;
            let wait = if back_off {
                (5 << (row.attempt - 1)).min(300)
            } else {
                0
            };
            row.state = match row.attempt {
                0..=5 => State::Queued { from: now + wait },
                _ => State::Dead,
            };
        }
    }

    fn finish(&mut self) {
        for (_, row) in self.leased() {
            row.state = State::Acked;
        }
    }
}

// === the run ===

struct Run {
    core: Core,
    model: Model,
    senders: [Sender; 3],
    scout: hive_proto::ids::AgentId,
    instances: u32,
    epoch: Epoch,
    stale: Vec<(Epoch, TurnId)>,
    /// The open turn, and the one that was ended last under this epoch.
    turn: Option<TurnId>,
    ended: Option<TurnId>,
    sent: u32,
}

impl Run {
    async fn begin() -> Self {
        let core = Core::new();
        let scout = core.agent("scout").await;
        let senders = [
            Sender::Operator,
            Sender::Agent(core.agent("a").await),
            Sender::Agent(core.agent("b").await),
        ];
        let mut run = Self {
            core,
            model: Model::default(),
            senders,
            scout,
            instances: 0,
            epoch: Epoch(0),
            stale: Vec::new(),
            turn: None,
            ended: None,
            sent: 0,
        };
        run.new_instance().await;
        run
    }

    async fn new_instance(&mut self) {
        self.instances += 1;
        self.epoch = self
            .core
            .open(self.scout, &self.instances.to_string())
            .await;
        self.ended = None;
    }

    async fn gone(&mut self, loss: Loss, deaths: u32) {
        let told = self.turn.take().or(self.ended);
        self.stale.extend(told.map(|turn| (self.epoch, turn)));
        self.core.turns.release(self.scout, loss).await.unwrap();
        self.model.requeue(deaths, false);
        self.new_instance().await;
    }

    async fn step(mut self, op: Op) -> Self {
        match op {
            Op::Send { from } => {
                self.sent += 1;
                let body = self.sent.to_string();
                let sent = self
                    .core
                    .send_with(self.senders[from], "scout", outgoing(&body))
                    .await;
                self.accept(sent.unwrap().id);
            }
            Op::SendKeyed { from, key } => self.send_keyed(from, key).await,
            Op::Recv { max, lost } => self.recv(max, lost).await,
            Op::Join { max } => self.join(max).await,
            Op::End(how) => self.end(how).await,
            Op::EndAgain => {
                if let Some(turn) = self.ended {
                    let again = self.end_as(self.epoch, turn, Outcome::Ok).await;
                    assert_eq!(again.unwrap(), Ending::AlreadyEnded);
                }
            }
            Op::StaleEnd => {
                for (epoch, turn) in self.stale.clone() {
                    let refused = self.end_as(epoch, turn, Outcome::Ok).await;
                    assert!(
                        matches!(refused, Err(TurnError::Stale { .. })),
                        "{refused:?}"
                    );
                }
            }
            Op::HarnessDies => self.gone(Loss::WithHarness, 1).await,
            Op::AgentStops => self.gone(Loss::Stopped, 0).await,
            Op::BrokerRestarts => {
                self.core = self.core.restart();
                let epoch = self
                    .core
                    .open(self.scout, &self.instances.to_string())
                    .await;
                assert_eq!(epoch, self.epoch);
            }
            Op::ReviveDead => {
                for row in self.core.inbox.dead().await.unwrap() {
                    self.core.inbox.requeue_dead(row.id).await.unwrap();
                    let row = self.model.rows.get_mut(&row.id).unwrap();
                    assert_eq!(row.state, State::Dead);
                    row.state = State::Queued { from: 0 };
                    row.attempt = 0;
                }
            }
            Op::Tick { secs: by } => {
                self.core.time.advance(secs(by));
                self.model.now += by;
            }
        }
        self
    }

    fn accept(&mut self, id: MessageId) {
        let row = Row {
            state: State::Queued { from: 0 },
            attempt: 0,
            again: false,
        };
        assert!(self.model.rows.insert(id, row).is_none());
        assert_eq!(self.model.rows.last_key_value().unwrap().0, &id);
    }

    async fn send_keyed(&mut self, from: usize, key: u8) {
        let outgoing = keyed(&format!("{from} {key}"), &key.to_string());
        let sent = self
            .core
            .send_with(self.senders[from], "scout", outgoing)
            .await
            .unwrap();
        match self.model.keys.insert((from, key), sent.id) {
            Some(first) => assert_eq!((sent.id, sent.novelty), (first, Novelty::Duplicate)),
            None => self.accept(sent.id),
        }
    }

    async fn recv(&mut self, max: u32, lost: bool) {
        let expected = match self.turn {
            Some(_) => self.model.again(max),
            None => self.model.pop(max),
        };
        let received = self.core.take(self.scout, self.epoch, max).await;
        assert_eq!(ids(&received), expected);
        for row in &received.rows {
            let model = self.model.rows[&row.id];
            assert_eq!(
                (row.attempt, row.delivery == Delivery::Again),
                (model.attempt, model.again)
            );
        }
        if !lost || self.turn.is_some() {
            self.turn = received.turn.or(self.turn);
        } else if received.turn.is_some() {
            // The harness knows nothing of the turn; only the next poll tells it.
            let again = self.core.take(self.scout, self.epoch, max).await;
            assert_eq!(
                (ids(&again), again.turn),
                (self.model.again(max), received.turn)
            );
            self.turn = again.turn;
        }
    }

    async fn join(&mut self, max: u32) {
        let Some(turn) = self.turn else { return };
        let expected = self.model.pop(max);
        let args = RecvArgs {
            epoch: self.epoch,
            max,
            wait: secs(0),
            take: Take::Join {
                turn,
                held: Vec::new(),
            },
        };
        let received = self.core.inbox.recv(self.scout, args).await.unwrap();
        assert_eq!(ids(&received), expected);
    }

    async fn end(&mut self, how: How) {
        let Some(turn) = self.turn.take() else { return };
        let (outcome, class) = match how {
            How::Ok => (Outcome::Ok, FailureClass::Unspecified),
            How::Park => (Outcome::RateLimited, FailureClass::Unspecified),
            How::Transient => (Outcome::Failed, FailureClass::Crashed),
            How::Final => (Outcome::Failed, FailureClass::Refused),
        };
        let ended = self
            .core
            .try_end(self.scout, self.epoch, turn, outcome, class)
            .await;
        assert_eq!(ended.unwrap(), Ending::Ended);
        self.ended = Some(turn);
        match how {
            How::Ok | How::Final => self.model.finish(),
            How::Park => self.model.requeue(0, false),
            How::Transient => self.model.requeue(1, true),
        }
    }

    async fn end_as(
        &self,
        epoch: Epoch,
        turn: TurnId,
        outcome: Outcome,
    ) -> Result<Ending, TurnError> {
        let class = FailureClass::Unspecified;
        self.core
            .try_end(self.scout, epoch, turn, outcome, class)
            .await
    }

    /// Every accepted message is where the model has it: none lost, none twice.
    async fn compare(&self) {
        for (id, row) in &self.model.rows {
            let expected = match row.state {
                State::Queued { .. } => MessageState::Queued,
                State::Leased => MessageState::Leased,
                State::Acked => MessageState::Acked,
                State::Dead => MessageState::Dead,
            };
            let real = self.core.message(*id).await;
            assert_eq!(
                (real.state, real.attempt),
                (expected, row.attempt),
                "{real:?}"
            );
        }
        let mailbox = hived::store::Recipient::Agent(self.scout);
        assert_eq!(self.core.mail(mailbox).await.len(), self.model.rows.len());
    }
}

fn op() -> impl Strategy<Value = Op> {
    let how = prop_oneof![
        4 => Just(How::Ok),
        2 => Just(How::Park),
        4 => Just(How::Transient),
        1 => Just(How::Final),
    ];
    prop_oneof![
        6 => (0..3_usize).prop_map(|from| Op::Send { from }),
        3 => (0..3_usize, 0..3_u8).prop_map(|(from, key)| Op::SendKeyed { from, key }),
        8 => (1..4_u32, prop::bool::weighted(0.2)).prop_map(|(max, lost)| Op::Recv { max, lost }),
        2 => (1..4_u32).prop_map(|max| Op::Join { max }),
        8 => how.prop_map(Op::End),
        1 => Just(Op::EndAgain),
        1 => Just(Op::StaleEnd),
        3 => Just(Op::HarnessDies),
        1 => Just(Op::AgentStops),
        1 => Just(Op::BrokerRestarts),
        1 => Just(Op::ReviveDead),
        4 => prop_oneof![Just(1_u64), Just(6), Just(301)].prop_map(|secs| Op::Tick { secs }),
    ]
}

#[test]
fn dl8_the_store_does_what_the_model_does() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(Config::default());
    runner
        .run(&prop::collection::vec(op(), 1..50), |ops| {
            runtime.block_on(async {
                let mut run = Run::begin().await;
                for op in ops {
                    run = run.step(op).await;
                }
                run.compare().await;
            });
            Ok(())
        })
        .unwrap();
}
