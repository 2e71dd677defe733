-- A restart that was asked for and has not been carried out: it outlives the hived that was asked.
ALTER TABLE agents ADD COLUMN restart_asked INTEGER NOT NULL DEFAULT 0 CHECK (restart_asked IN (0, 1));
