-- Knowledge: entries that outlive the work they came from, what they are found by, and which items made or used them.

CREATE TABLE knowledge (
    pk          INTEGER PRIMARY KEY,
    id          BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    project_id  BLOB    NOT NULL REFERENCES projects (id),
    source      INTEGER NOT NULL,
    -- The item may be gone: no reference.
    source_item BLOB,
    author      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    updated_by  TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    reviewed_by TEXT,
    reviewed_at INTEGER,
    title       TEXT    NOT NULL,
    tags        TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    -- The generation of vectors that one was made or refused in, of the present text; 0 for none.
    made        INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Ids grow with time: the newest of a project are its last.
CREATE INDEX knowledge_project ON knowledge (project_id, id);
-- What has yet to be made comes first.
CREATE INDEX knowledge_made ON knowledge (made, id);

-- The words of each entry as `docket_core::search::entry_words` leaves them. A table and not a full-text index: for each word
-- only the newest entries are looked at, and by the order of this key that costs the same however many there are.
CREATE TABLE knowledge_words (
    project_id BLOB    NOT NULL,
    word       TEXT    NOT NULL,
    entry_id   BLOB    NOT NULL REFERENCES knowledge (id) ON DELETE CASCADE,
    in_title   INTEGER NOT NULL,
    PRIMARY KEY (project_id, word, entry_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_words_entry ON knowledge_words (entry_id, word);

-- What each entry is filed under beside its words, as `docket_core::store::facet` spells it: its tags, its source, whether it
-- is reviewed. Lists by them are read in the order of the key, however few entries there are.
CREATE TABLE knowledge_facets (
    project_id BLOB NOT NULL,
    facet      TEXT NOT NULL,
    entry_id   BLOB NOT NULL REFERENCES knowledge (id) ON DELETE CASCADE,
    PRIMARY KEY (project_id, facet, entry_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_facets_entry ON knowledge_facets (entry_id);

CREATE TABLE knowledge_links (
    entry_id   BLOB    NOT NULL REFERENCES knowledge (id) ON DELETE CASCADE,
    item_id    BLOB    NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    kind       INTEGER NOT NULL,
    author     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (entry_id, item_id, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_links_item ON knowledge_links (item_id, entry_id);

-- Vectors, one for each entry; it counts while its generation is the database's and the entry's `made`. `place` grows with every
-- one that is kept, so that a reader asks for the newer ones alone; `bits` is one bit a number, for the first look.
CREATE TABLE knowledge_vectors (
    entry_id   BLOB    NOT NULL PRIMARY KEY REFERENCES knowledge (id) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    place      INTEGER NOT NULL,
    bits       BLOB    NOT NULL,
    numbers    BLOB    NOT NULL,
    UNIQUE (generation, place)
) STRICT;

-- How many entries there are, which `docket doctor` can recompute, and the place of the newest vector. Beside that, whose vectors
-- are kept (the generation grows when another model is chosen) and whose turn it is to make them.
CREATE TABLE knowledge_counts (
    one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    stored     INTEGER NOT NULL,
    vectors    INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    model      TEXT    NOT NULL,
    width      INTEGER NOT NULL,
    maker      TEXT    NOT NULL,
    made_until INTEGER NOT NULL
) STRICT;
INSERT INTO knowledge_counts (one, stored, vectors, generation, model, width, maker, made_until)
VALUES (1, 0, 0, 1, '', 0, '', 0);
