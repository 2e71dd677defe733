//! A broker that the test plays: it hands out what the test queues and writes down what it is told.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::agent_service_server::{AgentService, AgentServiceServer};
use hive_proto::v1::*;
use tokio::net::UnixListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::{Request, Response, Status};

/// What ordinary steps may take on a slow, busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Everything that happened, and what is to be answered.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) engine: EngineConfig,
    pub(crate) queue: VecDeque<Message>,
    pub(crate) open: Option<(i64, Vec<Message>)>,
    pub(crate) turns: i64,
    pub(crate) opens: Vec<OpenSessionRequest>,
    pub(crate) beats: Vec<BeatRequest>,
    pub(crate) recvs: Vec<RecvRequest>,
    pub(crate) sends: Vec<SendRequest>,
    pub(crate) status: Option<String>,
    pub(crate) ends: Vec<EndTurnRequest>,
    pub(crate) directives: Vec<mpsc::Sender<Result<Directive, Status>>>,
    /// What the next opens are refused with.
    pub(crate) refuse_open: Option<Refusal>,
    pub(crate) refuse_end: Option<Refusal>,
    pub(crate) paused: bool,
    /// None: an older broker, which says nothing of tools.
    pub(crate) tools: Option<ToolRule>,
}

#[derive(Clone)]
struct Service {
    record: Arc<Mutex<Record>>,
    changed: watch::Sender<u64>,
}

/// The broker and its socket.
pub(crate) struct Fake {
    service: Service,
    socket: PathBuf,
    serving: Option<JoinHandle<()>>,
}

// === impl Fake ===

impl Fake {
    /// Serves in `dir`.
    pub(crate) fn new(dir: &Path) -> Self {
        let service = Service {
            record: Arc::default(),
            changed: watch::Sender::new(0),
        };
        let mut fake = Self {
            service,
            socket: dir.join("broker.sock"),
            serving: None,
        };
        fake.up();
        fake
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Comes up on the same socket; what it knew it still knows, as a real one does.
    pub(crate) fn up(&mut self) {
        _ = std::fs::remove_file(&self.socket);
        let listener = UnixListener::bind(&self.socket).unwrap();
        let service = AgentServiceServer::new(self.service.clone());
        let server = tonic::transport::Server::builder().add_service(service);
        let serving = server.serve_with_incoming(UnixListenerStream::new(listener));
        let mut set = tokio::task::JoinSet::new();
        set.spawn(serving);
        // The task is aborted with its handle in `down`.
        self.serving = Some(spawn(async move {
            _ = set.join_next().await;
        }));
    }

    /// Dies without a word: every connection breaks.
    pub(crate) async fn down(&mut self) {
        let serving = self.serving.take().unwrap();
        serving.abort();
        _ = serving.await;
        self.record().directives.clear();
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.service.record.lock().unwrap()
    }

    /// Queues a message.
    pub(crate) fn queue(&self, id: i64, from: &str, body: &str) {
        self.service.change(|record| {
            record.queue.push_back(Message {
                id,
                from: from.to_owned(),
                to: "bob".to_owned(),
                body: body.to_owned(),
                ..Message::default()
            });
        });
    }

    pub(crate) async fn direct(&self, kind: DirectiveKind, turn_id: i64) {
        let sender = self.record().directives.last().cloned().unwrap();
        let directive = Directive {
            kind: kind.into(),
            turn_id,
        };
        sender.send(Ok(directive)).await.unwrap();
    }

    /// Waits until `look` finds something.
    pub(crate) async fn until<T>(&self, what: &str, look: impl Fn(&Record) -> Option<T>) -> T {
        let mut changed = self.service.changed.subscribe();
        let waiting = async {
            loop {
                changed.borrow_and_update();
                if let Some(found) = look(&self.record()) {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        let found = tokio::time::timeout(SOON, waiting).await;
        found.unwrap_or_else(|_| panic!("waited in vain until {what}"))
    }

    /// Waits for the nth end of a turn, counted from 1.
    pub(crate) async fn end(&self, nth: usize) -> EndTurnRequest {
        self.until("a turn ends", |record| record.ends.get(nth - 1).cloned())
            .await
    }

    /// Waits until the harness says that it is in `state`.
    pub(crate) async fn state(&self, state: HarnessState) -> BeatRequest {
        self.until("a beat says so", |record| {
            let last = record.beats.last()?;
            (last.state() == state).then(|| last.clone())
        })
        .await
    }
}

/// The test's own tasks end with the test.
fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::runtime::Handle::current().spawn(task)
}

// === impl Service ===

impl Service {
    fn change<T>(&self, change: impl FnOnce(&mut Record) -> T) -> T {
        let result = change(&mut self.record.lock().unwrap());
        self.changed.send_modify(|version| *version += 1);
        result
    }

    fn take(&self, request: &RecvRequest) -> Option<RecvResponse> {
        self.change(|record| {
            let (turn, joins) = match (&record.open, request.turn_id) {
                // The answer that carried them was lost: the same rows again.
                (Some((turn, rows)), 0) => {
                    return Some(RecvResponse {
                        messages: rows.clone(),
                        turn_id: *turn,
                        remaining: 0,
                    });
                }
                (_, 0) => (record.turns + 1, false),
                (_, turn) => (turn, true),
            };
            let first = record.queue.pop_front()?;
            let mut messages = vec![first];
            for _ in 1..request.max.max(1) {
                messages.extend(record.queue.pop_front());
            }
            if joins {
                let (_, rows) = record.open.as_mut()?;
                rows.extend(messages.clone());
            } else {
                record.turns = turn;
                record.open = Some((turn, messages.clone()));
            }
            Some(RecvResponse {
                messages,
                turn_id: turn,
                remaining: u32::try_from(record.queue.len()).unwrap(),
            })
        })
    }
}

#[tonic::async_trait]
impl AgentService for Service {
    type AttendStream = Pin<Box<ReceiverStream<Result<Directive, Status>>>>;

    async fn open_session(
        &self,
        request: Request<OpenSessionRequest>,
    ) -> Result<Response<OpenSessionResponse>, Status> {
        self.change(|record| {
            record.opens.push(request.into_inner());
            if let Some(refusal) = &record.refuse_open {
                return Err(refusal.clone().into());
            }
            Ok(Response::new(OpenSessionResponse {
                epoch: 7,
                agent_id: 1,
                name: "bob".to_owned(),
                role: Role::Agent.into(),
                parent: "operator".to_owned(),
                resumed: record.opens.len() > 1,
                open_turn: record.open.as_ref().map_or(0, |(turn, _)| *turn),
                beat_interval_ms: 15_000,
                engine: Some(record.engine.clone()),
                paused: record.paused,
                tools: record.tools.clone(),
            }))
        })
    }

    async fn attend(
        &self,
        _request: Request<AttendRequest>,
    ) -> Result<Response<Self::AttendStream>, Status> {
        let (sender, receiver) = mpsc::channel(8);
        let first = Directive {
            kind: DirectiveKind::Attached.into(),
            turn_id: 0,
        };
        sender.send(Ok(first)).await.unwrap();
        self.change(|record| record.directives.push(sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn beat(&self, request: Request<BeatRequest>) -> Result<Response<BeatResponse>, Status> {
        let paused = self.change(|record| {
            record.beats.push(request.into_inner());
            record.paused
        });
        Ok(Response::new(BeatResponse { paused }))
    }

    async fn recv(&self, request: Request<RecvRequest>) -> Result<Response<RecvResponse>, Status> {
        let request = request.into_inner();
        self.change(|record| record.recvs.push(request.clone()));
        let mut changed = self.changed.subscribe();
        let taking = async {
            loop {
                changed.borrow_and_update();
                if let Some(got) = self.take(&request) {
                    return got;
                }
                // `take` itself counts as a change.
                changed.borrow_and_update();
                _ = changed.changed().await;
            }
        };
        let wait = Duration::from_millis(request.wait_ms.into());
        let got = tokio::time::timeout(wait, taking).await;
        Ok(Response::new(got.unwrap_or_default()))
    }

    async fn end_turn(
        &self,
        request: Request<EndTurnRequest>,
    ) -> Result<Response<EndTurnResponse>, Status> {
        self.change(|record| {
            if let Some(refusal) = &record.refuse_end {
                return Err(refusal.clone().into());
            }
            record.open = None;
            record.ends.push(request.into_inner());
            Ok(Response::new(EndTurnResponse::default()))
        })
    }

    async fn send(&self, request: Request<SendRequest>) -> Result<Response<SendResponse>, Status> {
        let request = request.into_inner();
        if request.to == "nobody" {
            return Err(Refusal::new(Reason::UnknownAgent, "there is no agent nobody").into());
        }
        let id = self.change(|record| {
            record.sends.push(request);
            100 + i64::try_from(record.sends.len()).unwrap()
        });
        Ok(Response::new(SendResponse {
            id,
            recipient_state: "idle".to_owned(),
            ..SendResponse::default()
        }))
    }

    async fn set_status(
        &self,
        request: Request<SetStatusRequest>,
    ) -> Result<Response<SetStatusResponse>, Status> {
        self.change(|record| record.status = Some(request.into_inner().text));
        Ok(Response::new(SetStatusResponse {}))
    }

    async fn get_agent_meta(
        &self,
        request: Request<GetAgentMetaRequest>,
    ) -> Result<Response<AgentMeta>, Status> {
        let name = request.into_inner().name;
        // What a faulty tool looks like is shown by a panic on demand.
        Ok(Response::new(AgentMeta {
            name: if name.is_empty() {
                "bob".to_owned()
            } else {
                name
            },
            role: Role::Agent.into(),
            state: "idle".to_owned(),
            running: true,
            ..AgentMeta::default()
        }))
    }

    async fn send_batch(
        &self,
        _: Request<SendBatchRequest>,
    ) -> Result<Response<SendBatchResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn wake(&self, _: Request<WakeRequest>) -> Result<Response<WakeResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn list_inbox(
        &self,
        _: Request<ListInboxRequest>,
    ) -> Result<Response<ListMessagesResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn ask(&self, _: Request<AskRequest>) -> Result<Response<AskResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn wait_answer(
        &self,
        _: Request<WaitAnswerRequest>,
    ) -> Result<Response<WaitAnswerResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn answer_question(
        &self,
        _: Request<AnswerQuestionRequest>,
    ) -> Result<Response<Question>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn get_loose_ends(
        &self,
        _: Request<GetLooseEndsRequest>,
    ) -> Result<Response<GetLooseEndsResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn cancel_loose_end(
        &self,
        _: Request<CancelLooseEndRequest>,
    ) -> Result<Response<CancelLooseEndResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn remind(&self, _: Request<RemindRequest>) -> Result<Response<RemindResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }
}
