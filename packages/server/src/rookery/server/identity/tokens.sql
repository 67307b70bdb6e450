-- name: tokens_by_digest
-- One token by the SHA-256 of its secret.
SELECT id, digest, user_name AS user, scopes, note, created, expires, revoked, used
FROM tokens
WHERE digest = $1;

-- name: list_tokens
-- The tokens of one user, or of everybody for an empty name; oldest first.
SELECT id, digest, user_name AS user, scopes, note, created, expires, revoked, used
FROM tokens
WHERE $1 = '' OR user_name = $1
ORDER BY created, id;

-- name: tokens_add
-- Adds a token; returns nothing if there is no such user.
INSERT INTO tokens (id, digest, user_name, scopes, note, created, expires, revoked, used)
SELECT $1, $2, name, $4, $5, $6, $7, $8, $9 FROM users WHERE name = $3
RETURNING id;

-- name: tokens_revoke
-- Revokes a token and returns its owner's name; a token that is revoked already keeps its time.
UPDATE tokens SET revoked = coalesce(revoked, $2) WHERE id = $1 RETURNING user_name;

-- name: tokens_valid_among
-- Those of these digests whose tokens are valid.
SELECT digest FROM tokens
WHERE digest = ANY ($1::bytea[]) AND revoked IS NULL AND (expires IS NULL OR expires > $2);

-- name: tokens_of_workers
-- Valid tokens that workers have used since a time, ordered by id, from the one after an id.
SELECT id, digest, user_name AS user, scopes, note, created, expires, revoked, used
FROM tokens
WHERE id > $1 AND used >= $2 AND revoked IS NULL AND (expires IS NULL OR expires > $3)
    AND 'worker' = ANY (scopes)
ORDER BY id
LIMIT $4;

-- name: tokens_note_uses
-- Stores when tokens were last used, in bulk.
UPDATE tokens SET used = greatest(tokens.used, seen.used)
FROM unnest($1::text[], $2::timestamptz[]) AS seen (id, used)
WHERE tokens.id = seen.id;

-- name: tokens_changed
-- Notifies every process to forget what it has cached of a token.
SELECT pg_notify('tokens', $1);
