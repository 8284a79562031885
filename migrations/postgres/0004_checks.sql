-- Runs of checks. What a check is, and what became of it, is in its item's brief.

CREATE TABLE runs (
    id      uuid     NOT NULL PRIMARY KEY,
    item_id uuid     NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    state   smallint NOT NULL CHECK (state BETWEEN 0 AND 4),
    run     json     NOT NULL,
    log     text
);
-- Ids grow with time: the newest of an item is its last.
CREATE INDEX runs_item ON runs (item_id, id);
-- What waits for a runner, or is being made: little among all.
CREATE INDEX runs_open ON runs (id) WHERE state < 2;
