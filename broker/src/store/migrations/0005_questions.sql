-- Questions and reminders. Times are Unix milliseconds, UTC; NULL means "not yet" or "never".

CREATE TABLE questions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    asker_id    INTEGER NOT NULL REFERENCES agents (id),
    -- Who is asked; NULL is the operator.
    target_id   INTEGER REFERENCES agents (id),
    question    TEXT    NOT NULL,
    -- A JSON array of texts.
    options     TEXT    NOT NULL DEFAULT '[]',
    multi       INTEGER NOT NULL DEFAULT 0 CHECK (multi IN (0, 1)),
    idem_key    TEXT,
    state       TEXT    NOT NULL CHECK (state IN ('open', 'answered', 'expired', 'cancelled')),
    asked_at    INTEGER NOT NULL,
    deadline_at INTEGER,
    answer      TEXT    NOT NULL DEFAULT '',
    -- As shown: an agent's name, operator, ttl-watchdog, system.
    answerer    TEXT    NOT NULL DEFAULT '',
    -- The message that brings the answer to the asker.
    message_id  INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    finished_at INTEGER,
    CHECK ((state = 'open') = (finished_at IS NULL)),
    CHECK ((state = 'open') = (answer = '')),
    CHECK ((state = 'open') = (answerer = ''))
);
CREATE UNIQUE INDEX questions_key ON questions (asker_id, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX questions_open ON questions (asker_id) WHERE state = 'open';
CREATE INDEX questions_asked ON questions (COALESCE(target_id, 0)) WHERE state = 'open';
CREATE INDEX questions_deadline ON questions (deadline_at) WHERE state = 'open';
CREATE INDEX questions_message ON questions (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE reminders (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id    INTEGER NOT NULL REFERENCES agents (id),
    body        TEXT    NOT NULL,
    due_at      INTEGER NOT NULL,
    idem_key    TEXT,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'fired', 'failed', 'cancelled')),
    -- Tries that failed.
    attempts    INTEGER NOT NULL DEFAULT 0,
    not_before  INTEGER,
    error       TEXT    NOT NULL DEFAULT '',
    -- The message that it became.
    message_id  INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    set_at      INTEGER NOT NULL,
    finished_at INTEGER,
    CHECK ((state = 'pending') = (finished_at IS NULL)),
    CHECK (state = 'pending' OR not_before IS NULL)
);
CREATE UNIQUE INDEX reminders_key ON reminders (agent_id, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX reminders_agent ON reminders (agent_id) WHERE state IN ('pending', 'failed');
CREATE INDEX reminders_due ON reminders (COALESCE(not_before, due_at)) WHERE state = 'pending';
CREATE INDEX reminders_failed ON reminders (finished_at) WHERE state = 'failed';
CREATE INDEX reminders_over ON reminders (finished_at) WHERE state IN ('fired', 'cancelled');
CREATE INDEX reminders_message ON reminders (message_id) WHERE message_id IS NOT NULL;
