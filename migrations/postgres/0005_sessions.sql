-- Sessions: attempts at items. No index holds `heartbeat_at` or `progress`, so that a sign of life rewrites the row and
-- nothing else; how a session fares is stored nowhere. `project_id` is that of the item, which never changes.

CREATE TABLE sessions (
    id           uuid     NOT NULL PRIMARY KEY,
    item_id      uuid     NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    project_id   uuid     NOT NULL REFERENCES projects (id),
    actor        text     COLLATE "C" NOT NULL,
    state        smallint NOT NULL CHECK (state BETWEEN 0 AND 3),
    fence        bigint   NOT NULL,
    started_at   bigint   NOT NULL,
    heartbeat_at bigint   NOT NULL,
    ended_at     bigint,
    head         text     COLLATE "C",
    runtime      json     NOT NULL,
    progress     json     NOT NULL,
    summary      text     COLLATE "C",
    reason       text     COLLATE "C"
)
-- Signs of life come and come: room on the page keeps a row's versions together.
WITH (fillfactor = 70);
-- An item has one session at the most that has not ended.
CREATE UNIQUE INDEX sessions_open ON sessions (item_id) WHERE state = 0;
-- Ids grow with time: lists are in their order.
CREATE INDEX sessions_item ON sessions (item_id, id);
CREATE INDEX sessions_actor ON sessions (actor, id);
CREATE INDEX sessions_project ON sessions (project_id, id);
CREATE INDEX sessions_active ON sessions (id, project_id) WHERE state = 0;
