-- name: binaries_get
-- One uploaded program by its SHA-256.
SELECT sha256, blob, size, name, user_name AS user, created FROM binaries WHERE sha256 = $1;

-- name: binaries_add
-- Adds a program, or returns the stored one with the same bytes.
INSERT INTO binaries (sha256, blob, size, name, user_name, created)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (sha256) DO UPDATE SET sha256 = excluded.sha256
RETURNING sha256, blob, size, name, user_name AS user, created;

-- name: binaries_known
-- Those of the blobs that contain a program.
SELECT blob FROM binaries WHERE blob = ANY ($1::text[]);

-- name: binaries_of_user
-- The programs that a user uploaded, latest first.
SELECT sha256, blob, size, name, user_name AS user, created FROM binaries
WHERE user_name = $1 ORDER BY created DESC LIMIT $2;

-- name: binaries_blobs
-- A page of the blobs that contain programs, in order, with what they should be.
SELECT blob AS key, size, sha256 AS digest FROM binaries WHERE blob > $1 ORDER BY blob LIMIT $2;
