-- Keys that callers are known by. `digest` is SHA-256 of the secret, which is stored nowhere; `handle` is how the secret
-- begins, by which a key is found. `projects` is a JSON array of ids in hex, or null for all projects.
CREATE TABLE api_keys (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    handle       TEXT    NOT NULL UNIQUE,
    digest       BLOB    NOT NULL CHECK (length(digest) = 32),
    name         TEXT    NOT NULL,
    profile      INTEGER NOT NULL CHECK (profile BETWEEN 0 AND 4),
    projects     TEXT,
    item_id      BLOB,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;
