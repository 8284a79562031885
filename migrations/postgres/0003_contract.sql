-- The work contract: what is asked of an item beside its texts, what was shown of it, and what was said about it.

ALTER TABLE projects ADD COLUMN archived_at bigint;

-- `sections` and `inbox` are small sets of flags; `docket doctor` can recompute both.
ALTER TABLE items
    ADD COLUMN sections         smallint NOT NULL DEFAULT 0,
    ADD COLUMN inbox            smallint NOT NULL DEFAULT 0,
    ADD COLUMN due_at           bigint,
    ADD COLUMN estimate_minutes bigint,
    ADD COLUMN position         integer,
    ADD COLUMN attention        text COLLATE "C",
    ADD COLUMN intent           text COLLATE "C";
-- What is in review (role 2) waits for a person (flag 4).
UPDATE items SET inbox = 4 WHERE role = 2;
-- What waits for a person: little among all.
CREATE INDEX items_inbox ON items (project_id, number) WHERE inbox <> 0;

-- A table of their own: most reads of an item do not want its brief, which may be long.
CREATE TABLE briefs (
    item_id uuid NOT NULL PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    brief   json NOT NULL
);

CREATE TABLE questions (
    id       uuid     NOT NULL PRIMARY KEY,
    item_id  uuid     NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    state    smallint NOT NULL CHECK (state BETWEEN 0 AND 2),
    asked_by text     COLLATE "C" NOT NULL,
    asked_at bigint   NOT NULL,
    ended_by text     COLLATE "C",
    ended_at bigint,
    options  json     NOT NULL,
    text     text     COLLATE "C" NOT NULL,
    answer   text     COLLATE "C"
);
-- An item has one open question at the most.
CREATE UNIQUE INDEX questions_open ON questions (item_id) WHERE state = 0;
-- Ids grow with time: the newest of an item is its last.
CREATE INDEX questions_item ON questions (item_id, id);

CREATE TABLE comments (
    id         uuid   NOT NULL PRIMARY KEY,
    item_id    uuid   NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    author     text   COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    body       text   COLLATE "C" NOT NULL
);
CREATE INDEX comments_item ON comments (item_id, id);

CREATE TABLE links (
    id         uuid   NOT NULL PRIMARY KEY,
    item_id    uuid   NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    kind       text   COLLATE "C" NOT NULL,
    reference  text   COLLATE "C" NOT NULL,
    url        text   COLLATE "C" NOT NULL,
    title      text   COLLATE "C",
    author     text   COLLATE "C" NOT NULL,
    created_at bigint NOT NULL
);
CREATE INDEX links_item ON links (item_id);

-- Work that was begun and left: given back, or freed when its holder took up more. In the order of ready work, with which it
-- is handed out; what is in work because something beneath it is, is not among it.
CREATE INDEX items_left ON items (project_id, rank, number) WHERE holder IS NULL AND role = 1 AND fence > 0 AND offered;
