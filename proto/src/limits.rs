//! Numbers that both sides keep. Each is a default of the design unless its comment names a source.

/// Protocol level of this build. `hived` serves this one and the one before it; a change that an
/// older harness cannot work with raises it.
pub const LEVEL: u32 = 1;
/// A message's body, in bytes of UTF-8.
pub const BODY_BYTES: usize = 1024 * 1024;
/// Bodies above this are written to a file by the harness, and the prompt carries a pointer.
pub const SPILL_BYTES: usize = 16 * 1024;
/// An idempotency key, in bytes.
pub const KEY_BYTES: usize = 200;
/// Unfinished rows of one mailbox.
pub const MAILBOX_ROWS: u32 = 10_000;
/// Rows of one `Recv`.
pub const RECV_ROWS: u32 = 32;
/// Bytes of bodies of one `Recv`; the row that crosses it is left for the next call.
pub const RECV_BYTES: usize = 3 * 1024 * 1024;
/// Longest long poll.
pub const RECV_WAIT_MS: u32 = 180_000;
/// One RPC message, in both directions (tonic's own defaults are 4 MiB in, no limit out).
pub const RPC_BYTES: usize = 8 * 1024 * 1024;
/// HTTP/2 streams of one connection (tonic's own default is no limit).
pub const STREAMS_PER_CONNECTION: u32 = 64;
/// Entries of one `SendBatch`.
pub const BATCH_SENDS: usize = 256;
/// Between two beats of a session.
pub const BEAT_MS: u32 = 15_000;
/// Without a beat for so long a session is lost, and so are its leases.
pub const LOST_MS: u32 = 60_000;
/// Deaths of a message before the next one sends it to the dead letters.
pub const MAX_ATTEMPTS: u32 = 5;
/// First and longest back-off after a transient failure.
pub const BACKOFF_MS: (i64, i64) = (5_000, 300_000);
/// How long a tool call is retried with its key while the broker is away.
pub const TOOL_RETRY_SECS: u64 = 60;
/// A message that nobody has taken for so long is stalled.
pub const STALLED_MS: i64 = 15 * 60 * 1000;
/// A question's text, and an answer's, in bytes: both of them fit one message.
pub const QUESTION_BYTES: usize = 64 * 1024;
pub const ANSWER_BYTES: usize = 256 * 1024;
/// Options of one question, and bytes of one of them.
pub const OPTIONS: usize = 32;
pub const OPTION_BYTES: usize = 1024;
/// Longest time that a question may be given.
pub const QUESTION_TTL_SECS: u64 = 6 * 60 * 60;
/// Longest wait of the tool `ask`.
pub const ASK_WAIT_SECS: u32 = 900;
/// Open questions of one agent.
pub const QUESTIONS_OPEN: u32 = 50;
/// Reminders of one agent that have neither fired nor been cancelled.
pub const REMINDERS_PENDING: u32 = 50;
/// Failed tries of a reminder before it waits for the operator.
pub const REMINDER_ATTEMPTS: u32 = 5;
/// Characters of an agent's status line.
pub const STATUS_CHARS: usize = 200;
/// Longest path of a Unix socket: `sun_path` holds 108 bytes with its NUL (unix(7)).
pub const SOCKET_PATH_BYTES: usize = 107;
/// A schedule's body, in bytes of UTF-8: a person has to read it before it may run.
pub const SCHEDULE_BODY_BYTES: usize = 64 * 1024;
/// Agents that one schedule writes to.
pub const SCHEDULE_TARGETS: usize = 64;
/// Characters of what a requester says about its request, and of a note to a decision.
pub const NOTE_CHARS: usize = 2_000;
/// Shortest interval of a schedule, in seconds.
pub const SCHEDULE_INTERVAL_SECS: u64 = 60;
/// Active schedules of one owner.
pub const SCHEDULES_PER_OWNER: u32 = 100;
/// Approvals of one requester that wait at the same time.
pub const APPROVALS_PENDING: u32 = 50;
/// How long an approval waits for the operator.
pub const APPROVAL_EXPIRY_MS: i64 = 7 * 24 * 3_600_000;
