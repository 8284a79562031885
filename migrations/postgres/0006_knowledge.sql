-- Knowledge: entries that outlive the work they came from, what they are found by, and which items made or used them.

CREATE TABLE knowledge (
    id          uuid     NOT NULL PRIMARY KEY,
    project_id  uuid     NOT NULL REFERENCES projects (id),
    source      smallint NOT NULL,
    -- The item may be gone: no reference.
    source_item uuid,
    author      text     COLLATE "C" NOT NULL,
    created_at  bigint   NOT NULL,
    updated_at  bigint   NOT NULL,
    updated_by  text     COLLATE "C" NOT NULL,
    version     bigint   NOT NULL,
    reviewed_by text     COLLATE "C",
    reviewed_at bigint,
    title       text     COLLATE "C" NOT NULL,
    tags        jsonb    NOT NULL,
    body        text     COLLATE "C" NOT NULL,
    -- The generation of vectors that one was made or refused in, of the present text; 0 for none.
    made        bigint   NOT NULL DEFAULT 0
);
-- Ids grow with time: the newest of a project are its last.
CREATE INDEX knowledge_project ON knowledge (project_id, id);
-- What has yet to be made comes first.
CREATE INDEX knowledge_made ON knowledge (made, id);

-- The words of each entry as `docket_core::search::entry_words` leaves them. A table and not a full-text index: for each word
-- only the newest entries are looked at, and by the order of this key that costs the same however many there are.
CREATE TABLE knowledge_words (
    project_id uuid    NOT NULL,
    word       text    COLLATE "C" NOT NULL,
    entry_id   uuid    NOT NULL REFERENCES knowledge (id) ON DELETE CASCADE,
    in_title   boolean NOT NULL,
    PRIMARY KEY (project_id, word, entry_id)
);
CREATE INDEX knowledge_words_entry ON knowledge_words (entry_id, word);

-- What each entry is filed under beside its words, as `docket_core::store::facet` spells it: its tags, its source, whether it
-- is reviewed. Lists by them are read in the order of the key, however few entries there are.
CREATE TABLE knowledge_facets (
    project_id uuid NOT NULL,
    facet      text COLLATE "C" NOT NULL,
    entry_id   uuid NOT NULL REFERENCES knowledge (id) ON DELETE CASCADE,
    PRIMARY KEY (project_id, facet, entry_id)
);
CREATE INDEX knowledge_facets_entry ON knowledge_facets (entry_id);

CREATE TABLE knowledge_links (
    entry_id   uuid     NOT NULL REFERENCES knowledge (id) ON DELETE CASCADE,
    item_id    uuid     NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    kind       smallint NOT NULL,
    author     text     COLLATE "C" NOT NULL,
    created_at bigint   NOT NULL,
    PRIMARY KEY (entry_id, item_id, kind)
);
CREATE INDEX knowledge_links_item ON knowledge_links (item_id, entry_id);

-- Vectors, one for each entry; it counts while its generation is the database's and the entry's `made`. `place` grows with every
-- one that is kept, so that a reader asks for the newer ones alone; `bits` is one bit a number, for the first look.
CREATE TABLE knowledge_vectors (
    entry_id   uuid   NOT NULL PRIMARY KEY REFERENCES knowledge (id) ON DELETE CASCADE,
    generation bigint NOT NULL,
    place      bigint NOT NULL,
    bits       bytea  NOT NULL,
    numbers    bytea  NOT NULL,
    UNIQUE (generation, place)
);

-- How many entries there are, which `docket doctor` can recompute, and the place of the newest vector. Who keeps vectors locks
-- the row until its commit: places grow in the order of commits. Beside that, whose vectors are kept (the generation grows when
-- another model is chosen) and whose turn it is to make them.
CREATE TABLE knowledge_counts (
    one        smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    stored     bigint   NOT NULL,
    vectors    bigint   NOT NULL,
    generation bigint   NOT NULL,
    model      text     COLLATE "C" NOT NULL,
    width      bigint   NOT NULL,
    maker      text     COLLATE "C" NOT NULL,
    made_until bigint   NOT NULL
);
INSERT INTO knowledge_counts (one, stored, vectors, generation, model, width, maker, made_until)
VALUES (1, 0, 0, 1, '', 0, '', 0);
