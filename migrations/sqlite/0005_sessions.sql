-- Sessions: attempts at items. No index holds `heartbeat_at` or `progress`, so that a sign of life rewrites the row and
-- nothing else; how a session fares is stored nowhere. `project_id` is that of the item, which never changes.

CREATE TABLE sessions (
    pk           INTEGER PRIMARY KEY,
    id           BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    item_id      BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    project_id   BLOB    NOT NULL REFERENCES projects (id),
    actor        TEXT    NOT NULL,
    state        INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
    fence        INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    ended_at     INTEGER,
    head         TEXT,
    runtime      TEXT    NOT NULL,
    progress     TEXT    NOT NULL,
    summary      TEXT,
    reason       TEXT
) STRICT;
-- An item has one session at the most that has not ended.
CREATE UNIQUE INDEX sessions_open ON sessions (item_id) WHERE state = 0;
-- Ids grow with time: lists are in their order.
CREATE INDEX sessions_item ON sessions (item_id, id);
CREATE INDEX sessions_actor ON sessions (actor, id);
CREATE INDEX sessions_project ON sessions (project_id, id);
CREATE INDEX sessions_active ON sessions (id, project_id) WHERE state = 0;
