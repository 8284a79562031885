-- The work contract: what is asked of an item beside its texts, what was shown of it, and what was said about it.

ALTER TABLE projects ADD COLUMN archived_at INTEGER;

-- `sections` and `inbox` are small sets of flags; `docket doctor` can recompute both.
ALTER TABLE items ADD COLUMN sections INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN inbox INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN due_at INTEGER;
ALTER TABLE items ADD COLUMN estimate_minutes INTEGER;
ALTER TABLE items ADD COLUMN position INTEGER;
ALTER TABLE items ADD COLUMN attention TEXT;
ALTER TABLE items ADD COLUMN intent TEXT;
-- What is in review (role 2) waits for a person (flag 4).
UPDATE items SET inbox = 4 WHERE role = 2;
-- What waits for a person: little among all.
CREATE INDEX items_inbox ON items (project_id, number) WHERE inbox <> 0;

-- A table of their own: most reads of an item do not want its brief, which may be long.
CREATE TABLE briefs (
    item_id BLOB NOT NULL PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    brief   TEXT NOT NULL
) STRICT;

CREATE TABLE questions (
    pk       INTEGER PRIMARY KEY,
    id       BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    item_id  BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    state    INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
    asked_by TEXT    NOT NULL,
    asked_at INTEGER NOT NULL,
    ended_by TEXT,
    ended_at INTEGER,
    options  TEXT    NOT NULL,
    text     TEXT    NOT NULL,
    answer   TEXT
) STRICT;
-- An item has one open question at the most.
CREATE UNIQUE INDEX questions_open ON questions (item_id) WHERE state = 0;
-- Ids grow with time: the newest of an item is its last.
CREATE INDEX questions_item ON questions (item_id, id);

CREATE TABLE comments (
    pk         INTEGER PRIMARY KEY,
    id         BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    item_id    BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    author     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT    NOT NULL
) STRICT;
CREATE INDEX comments_item ON comments (item_id, id);

CREATE TABLE links (
    pk         INTEGER PRIMARY KEY,
    id         BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    item_id    BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    kind       TEXT    NOT NULL,
    reference  TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    title      TEXT,
    author     TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX links_item ON links (item_id);

-- Work that was begun and left: given back, or freed when its holder took up more. In the order of ready work, with which it
-- is handed out; what is in work because something beneath it is, is not among it.
CREATE INDEX items_left ON items (project_id, rank, number, item_type)
    WHERE holder IS NULL AND role = 1 AND fence > 0 AND offered = 1;
