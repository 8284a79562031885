-- The first schema. Tables and columns mean what those of `migrations/sqlite/0001_init.sql` mean. Ids are UUIDs (a ULID is
-- the same 128 bits), times are milliseconds since 1970 in UTC, closed sets are the small numbers of
-- `crates/store-postgres/src/row/code.rs`. Text is compared by its bytes (collation "C"), as SQLite does, so that both
-- databases list in the same order whatever their locale.

-- Marks the schema as Docket's, and says how far it has come.
CREATE TABLE docket (
    one     boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL
);

CREATE TABLE projects (
    id          uuid   NOT NULL PRIMARY KEY,
    slug        text   COLLATE "C" NOT NULL UNIQUE,
    prefix      text   COLLATE "C" NOT NULL UNIQUE,
    name        text   COLLATE "C" NOT NULL,
    next_number bigint NOT NULL CHECK (next_number > 0),
    version     bigint NOT NULL,
    created_at  bigint NOT NULL
);

-- A table of their own: a new item counts `next_number` up, and must not rewrite pages of JSON for it.
CREATE TABLE rules (
    project_id uuid NOT NULL PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    workflow   json NOT NULL,
    schemas    json NOT NULL
);

-- `pk` is the order in which items were made, whatever their project.
CREATE TABLE items (
    id                    uuid     NOT NULL PRIMARY KEY,
    pk                    bigint   NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
    project_id            uuid     NOT NULL REFERENCES projects (id),
    number                bigint   NOT NULL,
    parent_id             uuid     REFERENCES items (id),
    depth                 smallint NOT NULL,
    role                  smallint NOT NULL CHECK (role BETWEEN 0 AND 4),
    outcome               smallint,
    priority              smallint NOT NULL CHECK (priority BETWEEN 0 AND 2),
    complexity            smallint,
    requires_verification boolean  NOT NULL,
    offered               boolean  NOT NULL,
    claimed_at            bigint,
    claim_expires_at      bigint,
    original_claimed_at   bigint,
    claim_ttl             bigint,
    fence                 bigint   NOT NULL,
    version               bigint   NOT NULL,
    created_at            bigint   NOT NULL,
    modified_at           bigint   NOT NULL,
    role_changed_at       bigint   NOT NULL,
    blockers              bigint   NOT NULL,
    moot                  bigint   NOT NULL,
    unblocks              bigint   NOT NULL,
    rank                  bigint   NOT NULL,
    status                text     COLLATE "C" NOT NULL,
    previous_status       text     COLLATE "C",
    status_label          text     COLLATE "C",
    item_type             text     COLLATE "C",
    holder                text     COLLATE "C",
    title                 text     COLLATE "C" NOT NULL,
    summary               text     COLLATE "C" NOT NULL,
    tags                  jsonb    NOT NULL,
    traits                jsonb    NOT NULL,
    touches               jsonb    NOT NULL,
    needs                 jsonb    NOT NULL,
    required_capabilities jsonb    NOT NULL,
    properties            text     COLLATE "C",
    metadata              text     COLLATE "C",
    description           text     COLLATE "C",
    -- Title and summary as `docket_core::search::fold` leaves them, word by word: no dictionary of the server changes them.
    words                 tsvector NOT NULL,
    UNIQUE (project_id, number)
)
-- Claims come and go: room on the page keeps a row's versions together.
WITH (fillfactor = 80);

-- Children of an item; role before number, so that open ones (role < 4) and tallies by role are ranges of it.
CREATE INDEX items_children ON items (parent_id, role, number) WHERE parent_id IS NOT NULL;
CREATE INDEX items_roots ON items (project_id, number) WHERE parent_id IS NULL;
CREATE INDEX items_role ON items (project_id, role, number);
CREATE INDEX items_type ON items (project_id, item_type, number) WHERE item_type IS NOT NULL;
CREATE INDEX items_modified ON items (project_id, modified_at);
CREATE INDEX items_blocked ON items (project_id, number) WHERE blockers > 0;
-- Ready work in the order in which it is handed out. Live claims and blocked items are not in it, so they are never
-- scanned.
CREATE INDEX items_ready ON items (project_id, role, rank, number) WHERE holder IS NULL AND role <> 4 AND offered;
-- The same for work that has no open blocker and yet is not offered.
CREATE INDEX items_unblocked ON items (project_id, role, rank, number)
    WHERE holder IS NULL AND role <> 4 AND NOT offered AND blockers = 0;
-- Claims by expiry: the expired ones are ready work again. These say "claimed" by another column than `items_held` does:
-- a holder's own claims must be looked for there, and the planner, which knows little of what comes and goes so quickly,
-- would take either.
CREATE INDEX items_claimed ON items (project_id, claim_expires_at) WHERE claimed_at IS NOT NULL;
-- Claims that keep others from work: few among all.
CREATE INDEX items_busy ON items (project_id, claim_expires_at)
    WHERE claimed_at IS NOT NULL AND (touches <> '[]' OR needs <> '[]');
CREATE INDEX items_held ON items (holder, project_id) WHERE holder IS NOT NULL;
CREATE INDEX items_claimed_children ON items (parent_id, claim_expires_at)
    WHERE claimed_at IS NOT NULL AND parent_id IS NOT NULL;
CREATE INDEX items_tags ON items USING gin (tags) WHERE tags <> '[]';
CREATE INDEX items_words ON items USING gin (words);

CREATE TABLE edges (
    id         uuid     NOT NULL PRIMARY KEY,
    kind       smallint NOT NULL CHECK (kind BETWEEN 0 AND 3),
    from_id    uuid     NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    to_id      uuid     NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    unblock_at smallint,
    inverse    boolean  NOT NULL,
    created_at bigint   NOT NULL
);
CREATE INDEX edges_from ON edges (from_id, kind, to_id, unblock_at);
CREATE INDEX edges_to ON edges (to_id, kind, from_id, unblock_at);

CREATE TABLE notes (
    id          uuid     NOT NULL PRIMARY KEY,
    item_id     uuid     NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    key         text     COLLATE "C" NOT NULL,
    phase       smallint NOT NULL,
    filled      boolean  NOT NULL,
    created_at  bigint   NOT NULL,
    modified_at bigint   NOT NULL,
    attribution json,
    body        text     COLLATE "C" NOT NULL,
    UNIQUE (item_id, key)
);

-- Append-only. A number is taken just before its transaction commits, after the transaction has announced that it will
-- take one: see `docket_head` below and docs/adr/0008.
CREATE SEQUENCE events_seq AS bigint MINVALUE 1 NO CYCLE CACHE 1;
CREATE TABLE events (
    seq         bigint   NOT NULL PRIMARY KEY DEFAULT nextval('events_seq'),
    id          uuid     NOT NULL,
    unit        uuid     NOT NULL,
    at          bigint   NOT NULL,
    project_id  uuid     NOT NULL,
    item_id     uuid,
    other_id    uuid,
    verb        smallint NOT NULL,
    principal   text     COLLATE "C" NOT NULL,
    attribution json,
    data        json     NOT NULL
);
ALTER SEQUENCE events_seq OWNED BY events.seq;
-- Times grow with the numbers only within an item: transactions that do not meet may commit in another order.
CREATE INDEX events_at ON events (at);
CREATE INDEX events_project ON events (project_id, seq);
CREATE INDEX events_item ON events (item_id, seq) WHERE item_id IS NOT NULL;
CREATE INDEX events_other ON events (other_id, seq) WHERE other_id IS NOT NULL;

-- Announces that this transaction is about to take numbers of events, by a lock that others can see and nobody waits for:
-- its name holds a number that is lower than all it will get. It is gone when the transaction is.
CREATE FUNCTION docket_announce() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lowest bigint;
BEGIN
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO lowest FROM events_seq;
    PERFORM pg_advisory_xact_lock_shared((53443::bigint << 48) | lowest);
    RETURN true;
END $$;

-- The number up to which every event that will ever be is there to be read, and whether that is all that were taken. Three
-- looks, in this order: which numbers are taken; which of the transactions that took them still run; what is committed. A
-- number taken after the first look is higher than what is returned. One taken before was announced before: its
-- transaction is seen by the second look, or has ended by then and is seen by the third.
CREATE FUNCTION docket_head(OUT head bigint, OUT settled boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    taken   bigint;
    running bigint;
BEGIN
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO taken FROM events_seq;
    SELECT min(((classid::bigint & 65535) << 32) | objid::bigint) INTO running FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND (classid::bigint >> 16) = 53443
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
    SELECT coalesce((SELECT seq FROM events WHERE seq <= least(taken, running) ORDER BY seq DESC LIMIT 1), 0) INTO head;
    settled := running IS NULL OR running >= taken;
END $$;

CREATE TABLE answers (
    principal  text   COLLATE "C" NOT NULL,
    operation  text   COLLATE "C" NOT NULL,
    request    text   COLLATE "C" NOT NULL,
    digest     bytea  NOT NULL CHECK (length(digest) = 32),
    expires_at bigint NOT NULL,
    answer     text   COLLATE "C" NOT NULL,
    PRIMARY KEY (principal, operation, request)
);
CREATE INDEX answers_expiry ON answers (expires_at);
