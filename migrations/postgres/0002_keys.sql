-- Keys that callers are known by. `digest` is SHA-256 of the secret, which is stored nowhere; `handle` is how the secret
-- begins, by which a key is found. `projects` is a JSON array of ids, or null for all projects.
CREATE TABLE api_keys (
    id           uuid     NOT NULL PRIMARY KEY,
    handle       text     COLLATE "C" NOT NULL UNIQUE,
    digest       bytea    NOT NULL CHECK (length(digest) = 32),
    name         text     COLLATE "C" NOT NULL,
    profile      smallint NOT NULL CHECK (profile BETWEEN 0 AND 4),
    projects     json,
    item_id      uuid,
    created_at   bigint   NOT NULL,
    expires_at   bigint,
    revoked_at   bigint,
    last_used_at bigint
);
