-- Runs of checks. What a check is, and what became of it, is in its item's brief.

CREATE TABLE runs (
    pk      INTEGER PRIMARY KEY,
    id      BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    item_id BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    state   INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
    run     TEXT    NOT NULL,
    -- Last, since it is long and seldom wanted.
    log     TEXT
) STRICT;
-- Ids grow with time: the newest of an item is its last.
CREATE INDEX runs_item ON runs (item_id, id);
-- What waits for a runner, or is being made: little among all.
CREATE INDEX runs_open ON runs (id) WHERE state < 2;
