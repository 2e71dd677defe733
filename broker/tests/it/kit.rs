//! A broker's core on a database of its own, under a clock that the test moves.

use std::time::Duration;

use hive_proto::ids::{AgentId, Epoch, MessageId, TurnId, UnixMs};
use hive_proto::limits::LEVEL;
use hive_proto::v1::{FailureClass, HarnessState, Outcome, Role};
use hived::approvals::Approvals;
use hived::clock::ManualClock;
use hived::events::{Events, Since};
use hived::inbox::{
    Delivered, Inbox, InboxError, Limits, Mailbox, Outgoing, Received, RecvArgs, Sender, Sent, Take,
};
use hived::loose_ends::LooseEnds;
use hived::questions::{self, Questions};
use hived::reconcile::{
    Deadlines, DueReminders, Expiry, Firing, Intents, Leases, Reconciler, Report, Retention,
    Stalled,
};
use hived::reminders::{self, Reminders};
use hived::schedules::Schedules;
use hived::sessions::{Doing, Hello, Opened, SessionError, Sessions};
use hived::settle::{Onward, Seen};
use hived::shutdown::Tasks;
use hived::store::agents::{self, NewAgent};
use hived::store::messages::{Listing, MessageRow};
use hived::store::turns::Usage;
use hived::store::{Recipient, Store};
use hived::turns::{EndTurn, Ending, TurnError, Turns};
use tempfile::TempDir;

/// A Tuesday in 2026.
pub(crate) const START: UnixMs = UnixMs(1_796_083_200_000);

pub(crate) struct Core {
    pub(crate) dir: TempDir,
    pub(crate) time: ManualClock,
    pub(crate) tasks: Tasks,
    pub(crate) store: Store,
    pub(crate) inbox: Inbox,
    pub(crate) sessions: Sessions,
    pub(crate) turns: Turns,
    pub(crate) events: Events,
    pub(crate) leases: Leases,
    pub(crate) retention: Retention,
    pub(crate) stalled: Stalled,
    pub(crate) approvals: Approvals,
    pub(crate) schedules: Schedules,
    pub(crate) intents: Intents,
    pub(crate) expiry: Expiry,
    pub(crate) firing: Firing,
    pub(crate) questions: Questions,
    pub(crate) reminders: Reminders,
    pub(crate) loose_ends: LooseEnds,
    pub(crate) deadlines: Deadlines,
    pub(crate) due: DueReminders,
}

impl Core {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        // In memory where there is such a place: what these tests show does not depend on the disk.
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        std::fs::create_dir(dir.path().join("backups")).unwrap();
        Self::start(dir, ManualClock::starting_at(START), limits)
    }

    fn start(dir: TempDir, time: ManualClock, limits: Limits) -> Self {
        let (clock, tasks) = (time.clock(), Tasks::default());
        let store = Store::open(dir.path(), clock.clone(), tasks.clone()).unwrap();
        let sessions = Sessions::new(store.clone(), clock.clone(), tasks.clone());
        let approvals = Approvals::new(store.clone());
        let schedules = Schedules::new(store.clone(), limits, 60, approvals.expiry_bell());
        let questions = Questions::new(
            store.clone(),
            tasks.clone(),
            questions::Limits {
                mailbox_rows: limits.mailbox_rows,
                ..questions::Limits::default()
            },
        );
        let reminders = Reminders::new(
            store.clone(),
            reminders::Limits {
                mailbox_rows: limits.mailbox_rows,
                ..reminders::Limits::default()
            },
        );
        Self {
            intents: Intents::new(approvals.clone(), schedules.bell()),
            expiry: Expiry::new(approvals.clone(), clock.clone()),
            firing: Firing::new(schedules.clone(), clock.clone()),
            approvals,
            schedules,
            deadlines: Deadlines::new(questions.clone(), clock.clone()),
            due: DueReminders::new(reminders.clone(), clock.clone()),
            loose_ends: LooseEnds::new(store.clone()),
            questions,
            reminders,
            inbox: Inbox::new(store.clone(), clock.clone(), tasks.clone(), limits),
            turns: Turns::new(store.clone(), sessions.clone()),
            events: Events::new(store.clone(), tasks.clone()),
            leases: Leases::new(sessions.clone(), clock.clone()),
            retention: Retention::new(store.clone(), clock.clone()),
            stalled: Stalled::new(store.clone(), clock),
            sessions,
            store,
            tasks,
            time,
            dir,
        }
    }

    /// The same with sessions that live so long without a beat.
    pub(crate) fn leasing(self, lease: Duration) -> Self {
        let clock = self.time.clock();
        let sessions = Sessions::new(self.store.clone(), clock.clone(), self.tasks.clone());
        let sessions = sessions.leasing(lease);
        Self {
            turns: Turns::new(self.store.clone(), sessions.clone()),
            leases: Leases::new(sessions.clone(), clock),
            sessions,
            ..self
        }
    }

    /// The next broker on the same database; what was in memory is gone.
    pub(crate) fn restart(self) -> Self {
        let Self { dir, time, .. } = self;
        Self::start(dir, time, Limits::default())
    }

    pub(crate) async fn agent(&self, name: &str) -> AgentId {
        self.agent_under(name, Role::Agent, None).await
    }

    pub(crate) async fn agent_under(
        &self,
        name: &str,
        role: Role,
        parent: Option<AgentId>,
    ) -> AgentId {
        let new = NewAgent {
            name: name.parse().unwrap(),
            role,
            parent,
            engine: "scripted".into(),
            model: "m".into(),
            image: String::new(),
            role_prompt: String::new(),
            script: String::new(),
            config_sha: String::new(),
        };
        self.store
            .write(move |tx| agents::insert(tx, &new))
            .await
            .unwrap()
            .id
    }

    pub(crate) async fn try_open(
        &self,
        agent: AgentId,
        instance: &str,
    ) -> Result<Opened, SessionError> {
        let hello = Hello {
            instance: instance.into(),
            version: "0".into(),
            level: LEVEL,
        };
        self.sessions.open(agent, hello).await
    }

    pub(crate) async fn open(&self, agent: AgentId, instance: &str) -> Epoch {
        self.try_open(agent, instance).await.unwrap().epoch
    }

    pub(crate) async fn beat(&self, agent: AgentId, epoch: Epoch) {
        self.sessions.beat(agent, epoch, idle()).await.unwrap();
    }

    pub(crate) async fn try_send(
        &self,
        from: Sender,
        to: &str,
        body: &str,
    ) -> Result<Sent, InboxError> {
        self.send_with(from, to, outgoing(body)).await
    }

    pub(crate) async fn send_with(
        &self,
        from: Sender,
        to: &str,
        outgoing: Outgoing,
    ) -> Result<Sent, InboxError> {
        match self.inbox.send(from, to, outgoing).await? {
            Delivered::One(sent) => Ok(sent),
            Delivered::All(each) => panic!("{to} is many: {each:?}"),
        }
    }

    pub(crate) async fn send(&self, from: Sender, to: &str, body: &str) -> MessageId {
        self.try_send(from, to, body).await.unwrap().id
    }

    pub(crate) async fn try_recv(
        &self,
        agent: AgentId,
        epoch: Epoch,
        take: Take,
    ) -> Result<Received, InboxError> {
        let args = RecvArgs {
            epoch,
            max: 32,
            wait: Duration::ZERO,
            take,
        };
        self.inbox.recv(agent, args).await
    }

    /// Takes at most `max` messages without waiting.
    pub(crate) async fn take(&self, agent: AgentId, epoch: Epoch, max: u32) -> Received {
        let args = RecvArgs {
            epoch,
            max,
            wait: Duration::ZERO,
            take: Take::Begin,
        };
        self.inbox.recv(agent, args).await.unwrap()
    }

    pub(crate) async fn try_end(
        &self,
        agent: AgentId,
        epoch: Epoch,
        turn: TurnId,
        outcome: Outcome,
        failure: FailureClass,
    ) -> Result<Ending, TurnError> {
        self.turns
            .end(agent, ending(epoch, turn, outcome, failure))
            .await
    }

    pub(crate) async fn end(&self, agent: AgentId, epoch: Epoch, turn: TurnId, outcome: Outcome) {
        let ended = self
            .try_end(agent, epoch, turn, outcome, FailureClass::Unspecified)
            .await;
        assert_eq!(ended.unwrap(), Ending::Ended);
    }

    pub(crate) async fn message(&self, id: MessageId) -> MessageRow {
        self.inbox.life(id).await.unwrap().message
    }

    /// Kinds of the events of one message, oldest first.
    pub(crate) async fn story(&self, id: MessageId) -> Vec<String> {
        let life = self.inbox.life(id).await.unwrap();
        life.events.into_iter().map(|event| event.kind).collect()
    }

    /// (from, body) of a mailbox, oldest first.
    pub(crate) async fn mail(&self, of: Recipient) -> Vec<(String, String)> {
        let rows = self
            .inbox
            .list(Mailbox::Of(of), Listing::Everything, 500)
            .await
            .unwrap();
        rows.into_iter().map(|row| (row.from, row.body)).collect()
    }

    /// Every event that is left, also when none is.
    pub(crate) async fn kinds_or_none(&self) -> Vec<String> {
        match self.store.read(hived::store::events::last_seq).await {
            Ok(hive_proto::ids::EventSeq(0)) => Vec::new(),
            _ => self.kinds().await,
        }
    }

    /// Every event so far.
    pub(crate) async fn kinds(&self) -> Vec<String> {
        use futures::StreamExt;
        let last = self
            .store
            .read(hived::store::events::last_seq)
            .await
            .unwrap();
        let since = Since::After(hive_proto::ids::EventSeq(0));
        let mut watch = self.events.watch(since, String::new()).await.unwrap();
        let mut kinds = Vec::new();
        while let Some(event) = watch.next().await {
            let event = event.unwrap();
            kinds.push(event.kind);
            if event.seq == last {
                break;
            }
        }
        kinds
    }
}

pub(crate) async fn run(reconciler: &dyn Reconciler) -> Report {
    reconciler.run().await.unwrap()
}

pub(crate) fn idle() -> Doing {
    Doing {
        state: HarnessState::Idle,
        until: None,
        detail: String::new(),
    }
}

pub(crate) fn outgoing(body: &str) -> Outgoing {
    Outgoing {
        body: body.into(),
        ..Outgoing::default()
    }
}

pub(crate) fn keyed(body: &str, key: &str) -> Outgoing {
    Outgoing {
        body: body.into(),
        key: Some(key.into()),
        in_reply_to: None,
    }
}

pub(crate) fn ending(
    epoch: Epoch,
    turn: TurnId,
    outcome: Outcome,
    failure: FailureClass,
) -> EndTurn {
    EndTurn {
        epoch,
        turn,
        outcome,
        failure,
        detail: String::new(),
        usage: Usage::default(),
        model: String::new(),
        seen: Seen::All,
        onward: Onward::Rest,
    }
}

pub(crate) fn bodies(received: &Received) -> Vec<&str> {
    received.rows.iter().map(|row| row.body.as_str()).collect()
}

pub(crate) fn ids(received: &Received) -> Vec<MessageId> {
    received.rows.iter().map(|row| row.id).collect()
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
