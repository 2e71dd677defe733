-- Approvals with their intents; schedules with their targets and occurrences.

CREATE TABLE approvals (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT    NOT NULL,
    -- Whom it is about, and who asks: ids, so that a name that begins anew inherits nothing.
    agent_id     INTEGER NOT NULL REFERENCES agents (id),
    requester_id INTEGER NOT NULL REFERENCES agents (id),
    -- What it would change, e.g. `schedule:7`; empty for something new.
    subject      TEXT    NOT NULL DEFAULT '',
    description  TEXT    NOT NULL DEFAULT '',
    -- The canonical bytes that run, and their SHA-256 in hexadecimal.
    payload      TEXT    NOT NULL,
    digest       TEXT    NOT NULL CHECK (length(digest) = 64),
    idem_key     TEXT,
    -- SHA-256 of the request as it came: tells a replay from another request with the same key.
    asked        TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN
        ('pending', 'approved', 'done', 'failed', 'denied', 'cancelled', 'expired')),
    requested_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    decided_at   INTEGER,
    decided_by   TEXT    NOT NULL DEFAULT '',
    note         TEXT    NOT NULL DEFAULT '',
    result       TEXT    NOT NULL DEFAULT '',
    finished_at  INTEGER,
    CHECK ((state NOT IN ('pending', 'approved')) = (finished_at IS NOT NULL)),
    CHECK ((state IN ('approved', 'done', 'failed', 'denied')) = (decided_at IS NOT NULL))
);
CREATE UNIQUE INDEX approvals_key ON approvals (requester_id, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_subject ON approvals (subject) WHERE state = 'pending' AND subject <> '';

-- What an approved one has to bring about: written with the decision, carried out once.
CREATE TABLE intents (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    approval_id INTEGER NOT NULL UNIQUE REFERENCES approvals (id),
    effect      TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'done', 'failed')),
    tries       INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT    NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    finished_at INTEGER,
    CHECK ((state <> 'pending') = (finished_at IS NOT NULL))
);
CREATE INDEX intents_pending ON intents (id) WHERE state = 'pending';

CREATE TABLE schedules (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    -- NULL is the operator.
    owner_id      INTEGER REFERENCES agents (id),
    -- The approval of what runs; NULL for what the operator made.
    approval_id   INTEGER REFERENCES approvals (id),
    body          TEXT    NOT NULL,
    description   TEXT    NOT NULL DEFAULT '',
    timing        TEXT    NOT NULL CHECK (timing IN ('once', 'every', 'cron')),
    first_at      INTEGER,
    interval_secs INTEGER,
    cron          TEXT,
    tz            TEXT,
    misfire       TEXT    NOT NULL CHECK (misfire IN ('once', 'skip')),
    overlap       TEXT    NOT NULL CHECK (overlap IN ('queue', 'skip')),
    next_fire_at  INTEGER,
    state         TEXT    NOT NULL CHECK (state IN ('active', 'done', 'cancelled')),
    -- Grows with every edit: an approval of a change names the one that it changes.
    version       INTEGER NOT NULL DEFAULT 1,
    created_at    INTEGER NOT NULL,
    finished_at   INTEGER,
    CHECK ((timing <> 'cron') = (first_at IS NOT NULL)),
    CHECK ((timing = 'every') = (interval_secs IS NOT NULL)),
    CHECK ((timing = 'cron') = (cron IS NOT NULL AND tz IS NOT NULL)),
    CHECK ((state <> 'active') = (finished_at IS NOT NULL)),
    CHECK ((state = 'active') = (next_fire_at IS NOT NULL))
);
CREATE INDEX schedules_due ON schedules (next_fire_at) WHERE state = 'active';
CREATE INDEX schedules_owner ON schedules (COALESCE(owner_id, 0)) WHERE state = 'active';
CREATE INDEX schedules_finished ON schedules (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE schedule_targets (
    schedule_id   INTEGER NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    target_id     INTEGER NOT NULL REFERENCES agents (id),
    state         TEXT    NOT NULL CHECK (state IN ('active', 'removed')),
    -- Whether the slot that a removed one would have had next was written down.
    closed        INTEGER NOT NULL DEFAULT 0 CHECK (closed IN (0, 1)),
    last_fired_at INTEGER,
    last_result   TEXT    NOT NULL DEFAULT '',
    -- The last message, whatever became of it since.
    last_message  INTEGER,
    PRIMARY KEY (schedule_id, target_id)
) WITHOUT ROWID;

-- One row an expected slot and target, for ever unless it is old: what makes it fire at most once.
CREATE TABLE occurrences (
    id          INTEGER PRIMARY KEY,
    schedule_id INTEGER NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    target_id   INTEGER NOT NULL REFERENCES agents (id),
    slot        INTEGER NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('fired', 'skipped')),
    reason      TEXT    NOT NULL DEFAULT '',
    message_id  INTEGER,
    slots       INTEGER NOT NULL DEFAULT 1 CHECK (slots > 0),
    extra       INTEGER NOT NULL DEFAULT 0 CHECK (extra IN (0, 1)),
    -- Of the call that fired it by hand.
    idem_key    TEXT,
    at          INTEGER NOT NULL,
    UNIQUE (schedule_id, target_id, slot),
    CHECK ((state = 'fired') = (message_id IS NOT NULL)),
    CHECK (state <> 'skipped' OR reason <> '')
);
CREATE INDEX occurrences_at ON occurrences (at);
