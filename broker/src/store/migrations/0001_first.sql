-- The first schema: agents, sessions, messages, turns, events.
-- Times are Unix milliseconds, UTC; NULL means "not yet".

CREATE TABLE agents (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    role        TEXT    NOT NULL CHECK (role IN ('agent', 'manager')),
    parent_id   INTEGER REFERENCES agents (id),
    desired     TEXT    NOT NULL CHECK (desired IN ('running', 'stopped')),
    paused      INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    engine      TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    -- The image as asked for; empty = hive.toml's default.
    image       TEXT    NOT NULL DEFAULT '',
    role_prompt TEXT    NOT NULL DEFAULT '',
    script      TEXT    NOT NULL DEFAULT '',
    config_sha  TEXT    NOT NULL DEFAULT '',
    -- Hash of the create request that its container was made from; empty = none made.
    spec_hash   TEXT    NOT NULL DEFAULT '',
    -- The runtime's id of what runs it; empty = nothing.
    runtime_id  TEXT    NOT NULL DEFAULT '',
    status_text TEXT    NOT NULL DEFAULT '',
    status_at   INTEGER,
    -- Times of the last restarts, a JSON array of Unix milliseconds: the restart plan's memory.
    restarts    TEXT    NOT NULL DEFAULT '[]',
    -- Set when the restart plan gave up; cleared by start.
    failed      TEXT    NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    removed_at  INTEGER,
    -- Removed with everything it had: its name begins anew with another id.
    purged      INTEGER NOT NULL DEFAULT 0 CHECK (purged IN (0, 1))
);
CREATE UNIQUE INDEX agents_living_name ON agents (name) WHERE removed_at IS NULL;
CREATE INDEX agents_parent ON agents (parent_id) WHERE removed_at IS NULL;

-- One row an agent: the newest session. Liveness is kept in memory, by the monotonic clock.
CREATE TABLE sessions (
    agent_id  INTEGER PRIMARY KEY REFERENCES agents (id),
    instance  TEXT    NOT NULL,
    epoch     INTEGER NOT NULL,
    state     TEXT    NOT NULL,
    until_at  INTEGER,
    detail    TEXT    NOT NULL DEFAULT '',
    version   TEXT    NOT NULL,
    level     INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    seen_at   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE messages (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    -- As shown: an agent's name, operator, system, self, a wake label.
    sender       TEXT    NOT NULL,
    -- The sending agent; NULL for anyone else.
    from_id      INTEGER REFERENCES agents (id),
    -- The recipient; NULL is the operator.
    to_id        INTEGER REFERENCES agents (id),
    body         TEXT    NOT NULL,
    in_reply_to  INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    idem_key     TEXT,
    state        TEXT    NOT NULL CHECK (state IN ('queued', 'leased', 'acked', 'dead')),
    -- The turn that took it last.
    turn_id      INTEGER REFERENCES turns (id) ON DELETE SET NULL,
    epoch        INTEGER,
    attempt      INTEGER NOT NULL DEFAULT 0,
    redelivered  INTEGER NOT NULL DEFAULT 0 CHECK (redelivered IN (0, 1)),
    not_before   INTEGER,
    result       TEXT    NOT NULL DEFAULT '',
    stalled_at   INTEGER,
    queued_at    INTEGER NOT NULL,
    leased_at    INTEGER,
    finished_at  INTEGER,
    CHECK ((state IN ('acked', 'dead')) = (finished_at IS NOT NULL)),
    CHECK (state <> 'leased' OR (turn_id IS NOT NULL AND epoch IS NOT NULL AND leased_at IS NOT NULL))
);
-- FIFO of one recipient (COALESCE: the operator is recipient 0).
CREATE INDEX messages_queue ON messages (COALESCE(to_id, 0), id) WHERE state = 'queued';
CREATE INDEX messages_leased ON messages (to_id, turn_id) WHERE state = 'leased';
CREATE INDEX messages_dead ON messages (id) WHERE state = 'dead';
CREATE INDEX messages_mailbox ON messages (COALESCE(to_id, 0), id);
CREATE INDEX messages_turn ON messages (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX messages_replies ON messages (in_reply_to) WHERE in_reply_to IS NOT NULL;
CREATE INDEX messages_finished ON messages (finished_at) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX messages_key ON messages (COALESCE(to_id, 0), sender, idem_key)
    WHERE idem_key IS NOT NULL;

CREATE TABLE turns (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id           INTEGER NOT NULL REFERENCES agents (id),
    epoch              INTEGER NOT NULL,
    message_id         INTEGER NOT NULL,
    engine             TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    started_at         INTEGER NOT NULL,
    ended_at           INTEGER,
    outcome            TEXT    NOT NULL DEFAULT '',
    failure            TEXT    NOT NULL DEFAULT '',
    detail             TEXT    NOT NULL DEFAULT '',
    input_tokens       INTEGER NOT NULL DEFAULT 0,
    output_tokens      INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens  INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd           REAL    NOT NULL DEFAULT 0,
    context_tokens     INTEGER NOT NULL DEFAULT 0,
    tool_calls         INTEGER NOT NULL DEFAULT 0,
    CHECK ((outcome = '') = (ended_at IS NULL))
);
-- At most one running turn an agent.
CREATE UNIQUE INDEX turns_open ON turns (agent_id) WHERE ended_at IS NULL;
CREATE INDEX turns_agent ON turns (agent_id, started_at);
CREATE INDEX turns_message ON turns (message_id);
CREATE INDEX turns_ended ON turns (ended_at);

CREATE TABLE events (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    agent_id   INTEGER,
    -- The agent's name at the time: it outlives the agent.
    agent      TEXT    NOT NULL DEFAULT '',
    message_id INTEGER,
    -- A JSON object; never a message's body.
    data       TEXT    NOT NULL
);
CREATE INDEX events_message ON events (message_id, seq) WHERE message_id IS NOT NULL;
CREATE INDEX events_at ON events (at);
