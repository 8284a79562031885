-- Words of items that the full-text index has not taken in yet. A row here costs one page of a commit, where the index would
-- write several, and every so often merge what it has; so it takes in many at once (`crates/store-sqlite/src/write/items.rs`).
-- The words of an item are here or there, never in both.
CREATE TABLE items_unindexed (
    pk    INTEGER PRIMARY KEY REFERENCES items (pk) ON DELETE CASCADE,
    words TEXT    NOT NULL
) STRICT;

-- Answers are kept equally long: they run out in the order in which they were stored, which is that of their keys.
DROP INDEX answers_expiry;
