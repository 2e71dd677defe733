-- What the operator allows one agent beyond its role. No row: everything that its role has.

CREATE TABLE rights (
    agent_id INTEGER PRIMARY KEY REFERENCES agents (id),
    -- 0: it may write to anyone; 1: only to those in rights_recipients.
    listed   INTEGER NOT NULL CHECK (listed IN (0, 1)),
    -- Its groups of tools, a JSON array of words; NULL: all.
    tools    TEXT
);

-- Agents by id: one made anew under an old name is another.
CREATE TABLE rights_recipients (
    agent_id INTEGER NOT NULL REFERENCES rights (agent_id) ON DELETE CASCADE,
    to_id    INTEGER REFERENCES agents (id),
    word     TEXT CHECK (word IN ('operator', 'parent', 'manager')),
    CHECK ((to_id IS NULL) <> (word IS NULL))
);
CREATE UNIQUE INDEX rights_recipients_once
    ON rights_recipients (agent_id, COALESCE(to_id, 0), COALESCE(word, ''));
