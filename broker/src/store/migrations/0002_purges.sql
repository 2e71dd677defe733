-- Agents that were purged and whose files are not deleted yet: a row goes with the last of them.
CREATE TABLE purges (
    agent_id INTEGER PRIMARY KEY REFERENCES agents (id),
    since    INTEGER NOT NULL,
    -- Why the last attempt did not work; empty = none has failed yet.
    error    TEXT    NOT NULL DEFAULT ''
) WITHOUT ROWID;

-- Whether an earlier hived finished is not known. What lies under a name that was used again is the
-- next agent's.
INSERT INTO purges (agent_id, since)
SELECT id, removed_at FROM agents AS old
WHERE purged = 1
AND NOT EXISTS (SELECT 1 FROM agents AS next WHERE next.name = old.name AND next.id > old.id);
