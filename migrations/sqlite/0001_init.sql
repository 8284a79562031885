-- The first schema. Ids are the 16 bytes of a UUID or ULID, times are milliseconds since 1970 in UTC, lists are JSON
-- arrays, closed sets are the small numbers of `crates/store-sqlite/src/row/code.rs`.

CREATE TABLE projects (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    slug        TEXT    NOT NULL UNIQUE,
    prefix      TEXT    NOT NULL UNIQUE,
    name        TEXT    NOT NULL,
    next_number INTEGER NOT NULL CHECK (next_number > 0),
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A table of their own: a new item counts `next_number` up, and must not rewrite pages of JSON for it.
CREATE TABLE rules (
    project_id BLOB NOT NULL PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    workflow   TEXT NOT NULL,
    schemas    TEXT NOT NULL
) STRICT;

-- Columns that may be long stand last, so that reading the others does not walk their overflow pages.
CREATE TABLE items (
    pk                    INTEGER PRIMARY KEY,
    id                    BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    project_id            BLOB    NOT NULL REFERENCES projects (id),
    number                INTEGER NOT NULL,
    parent_id             BLOB    REFERENCES items (id),
    depth                 INTEGER NOT NULL,
    status                TEXT    NOT NULL,
    role                  INTEGER NOT NULL CHECK (role BETWEEN 0 AND 4),
    outcome               INTEGER,
    previous_status       TEXT,
    status_label          TEXT,
    priority              INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
    complexity            INTEGER,
    item_type             TEXT,
    requires_verification INTEGER NOT NULL,
    holder                TEXT,
    claimed_at            INTEGER,
    claim_expires_at      INTEGER,
    original_claimed_at   INTEGER,
    claim_ttl             INTEGER,
    fence                 INTEGER NOT NULL,
    version               INTEGER NOT NULL,
    created_at            INTEGER NOT NULL,
    modified_at           INTEGER NOT NULL,
    role_changed_at       INTEGER NOT NULL,
    blockers              INTEGER NOT NULL,
    moot                  INTEGER NOT NULL,
    unblocks              INTEGER NOT NULL,
    rank                  INTEGER NOT NULL,
    offered               INTEGER NOT NULL CHECK (offered IN (0, 1)),
    title                 TEXT    NOT NULL,
    tags                  TEXT    NOT NULL,
    traits                TEXT    NOT NULL,
    touches               TEXT    NOT NULL,
    needs                 TEXT    NOT NULL,
    required_capabilities TEXT    NOT NULL,
    summary               TEXT    NOT NULL,
    properties            TEXT,
    metadata              TEXT,
    description           TEXT,
    UNIQUE (project_id, number)
) STRICT;

-- Children of an item; role before number, so that open ones (role < 4) and tallies by role are ranges of it.
CREATE INDEX items_children ON items (parent_id, role, number) WHERE parent_id IS NOT NULL;
CREATE INDEX items_roots ON items (project_id, number) WHERE parent_id IS NULL;
CREATE INDEX items_role ON items (project_id, role, number);
CREATE INDEX items_type ON items (project_id, item_type, number) WHERE item_type IS NOT NULL;
CREATE INDEX items_modified ON items (project_id, modified_at);
CREATE INDEX items_blocked ON items (project_id, number) WHERE blockers > 0;
-- Ready work in the order in which it is handed out. Live claims and blocked items are not in it, so they are never
-- scanned; everything that is asked of a candidate is in it, so that no row is read that is left out.
CREATE INDEX items_ready ON items (project_id, role, offered, rank, number, item_type, holder, blockers)
    WHERE holder IS NULL AND role <> 4 AND (offered = 1 OR blockers = 0);
-- Claims by expiry: the expired ones are ready work again.
CREATE INDEX items_claimed ON items (project_id, claim_expires_at) WHERE holder IS NOT NULL;
-- Claims that keep others from work: few among all.
CREATE INDEX items_busy ON items (project_id, claim_expires_at)
    WHERE holder IS NOT NULL AND (touches <> '[]' OR needs <> '[]');
CREATE INDEX items_held ON items (holder, project_id) WHERE holder IS NOT NULL;
CREATE INDEX items_claimed_children ON items (parent_id, claim_expires_at)
    WHERE holder IS NOT NULL AND parent_id IS NOT NULL;

CREATE TABLE item_tags (
    tag     TEXT    NOT NULL,
    item_pk INTEGER NOT NULL REFERENCES items (pk) ON DELETE CASCADE,
    PRIMARY KEY (tag, item_pk)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_tags_item ON item_tags (item_pk);

-- Title and summary as `docket_core::search::fold` leaves them: lower case, no accents, words apart. The rows are those
-- of `items`, by `pk`.
CREATE VIRTUAL TABLE items_fts USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);

CREATE TABLE edges (
    pk         INTEGER PRIMARY KEY,
    id         BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
    from_id    BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    to_id      BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    unblock_at INTEGER,
    inverse    INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX edges_from ON edges (from_id, kind, to_id, unblock_at);
CREATE INDEX edges_to ON edges (to_id, kind, from_id, unblock_at);

CREATE TABLE notes (
    pk          INTEGER PRIMARY KEY,
    id          BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    item_id     BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    key         TEXT    NOT NULL,
    phase       INTEGER NOT NULL,
    filled      INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    attribution TEXT,
    body        TEXT    NOT NULL,
    UNIQUE (item_id, key)
) STRICT;

-- Append-only: the newest row is never removed, so that numbers are never used twice and a cursor means the same for ever.
-- (AUTOINCREMENT would guard against that at the price of one more page in every commit.) Numbers grow in commit order,
-- because there is one writing transaction at a time; so does `at`, which is why it needs no index: see
-- `read/events.rs`.
CREATE TABLE events (
    seq         INTEGER PRIMARY KEY,
    id          BLOB    NOT NULL CHECK (length(id) = 16),
    unit        BLOB    NOT NULL CHECK (length(unit) = 16),
    at          INTEGER NOT NULL,
    project_id  BLOB    NOT NULL,
    item_id     BLOB,
    other_id    BLOB,
    verb        INTEGER NOT NULL,
    principal   TEXT    NOT NULL,
    attribution TEXT,
    data        TEXT    NOT NULL
) STRICT;
CREATE INDEX events_project ON events (project_id);
CREATE INDEX events_item ON events (item_id) WHERE item_id IS NOT NULL;
CREATE INDEX events_other ON events (other_id) WHERE other_id IS NOT NULL;

CREATE TABLE answers (
    pk         INTEGER PRIMARY KEY,
    principal  TEXT    NOT NULL,
    operation  TEXT    NOT NULL,
    request    TEXT    NOT NULL,
    digest     BLOB    NOT NULL CHECK (length(digest) = 32),
    expires_at INTEGER NOT NULL,
    answer     TEXT    NOT NULL,
    UNIQUE (principal, operation, request)
) STRICT;
CREATE INDEX answers_expiry ON answers (expires_at);
