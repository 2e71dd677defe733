-- What the operator is told off-screen: channels, what each is to tell, and each telling's fate.

-- One row a channel of hive.toml, while it is named there.
CREATE TABLE notify_channels (
    name   TEXT    PRIMARY KEY,
    -- Events up to this one were looked at.
    cursor INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE outbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    channel      TEXT    NOT NULL,
    -- The same at every try, so that a receiver can tell a repetition.
    uid          TEXT    NOT NULL UNIQUE,
    kind         TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'sent', 'dead')),
    -- The notification as JSON, made with the first try and the same at every later one.
    payload      TEXT,
    tries        INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    -- When the first try of this round began.
    first_try_at INTEGER,
    last_error   TEXT    NOT NULL DEFAULT '',
    finished_at  INTEGER,
    CHECK ((state = 'pending') = (finished_at IS NULL)),
    CHECK (tries = 0 OR (payload IS NOT NULL AND first_try_at IS NOT NULL))
);
CREATE INDEX outbox_pending ON outbox (channel, next_at) WHERE state = 'pending';
CREATE INDEX outbox_dead ON outbox (id) WHERE state = 'dead';
CREATE INDEX outbox_kind ON outbox (channel, kind, next_at);
CREATE INDEX outbox_finished ON outbox (finished_at) WHERE finished_at IS NOT NULL;

-- What is told: one row a thing and channel. Several may go out as one notification.
CREATE TABLE outbox_items (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    channel   TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    -- The event that it comes from: one event is told once.
    seq       INTEGER NOT NULL,
    -- Names the thing among those of its kind.
    subject   TEXT    NOT NULL,
    -- The thing's id; 0 for none.
    ref_id    INTEGER NOT NULL,
    agent     TEXT    NOT NULL,
    text      TEXT    NOT NULL,
    -- What an agent wrote, shortened; empty for nothing.
    quote     TEXT    NOT NULL DEFAULT '',
    at        INTEGER NOT NULL,
    due_at    INTEGER NOT NULL,
    -- NULL until it is due.
    outbox_id INTEGER REFERENCES outbox (id) ON DELETE CASCADE,
    UNIQUE (channel, kind, seq)
);
CREATE INDEX outbox_items_due ON outbox_items (channel, due_at) WHERE outbox_id IS NULL;
CREATE INDEX outbox_items_subject ON outbox_items (channel, kind, subject);
CREATE INDEX outbox_items_row ON outbox_items (outbox_id) WHERE outbox_id IS NOT NULL;
