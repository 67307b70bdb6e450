-- name: nets_get
-- One net by its exact name.
SELECT name, blob, size, user_name AS user, created, downloads FROM nets WHERE name = $1;

-- name: nets_all
-- All nets, newest first.
SELECT name, blob, size, user_name AS user, created, downloads
FROM nets
ORDER BY created DESC, name;

-- name: nets_page
-- Nets found by a text and by a part of their uploaders' names, newest first, without those that a
-- reader may not know of; for some nets the first uploader is hidden from the reader as well.
SELECT name, blob, size, user_name AS user, created, downloads
FROM nets
WHERE ($1 = '' OR name ILIKE $1 OR (user_name ILIKE $1 AND name <> ALL ($4::text[])))
    AND ($2 = '' OR (user_name ILIKE $2 AND name <> ALL ($4::text[])))
    AND name <> ALL ($3::text[])
ORDER BY created DESC, name
LIMIT $5 OFFSET $6;

-- name: nets_add
-- Adds a net, or returns the stored one with that name.
INSERT INTO nets (name, blob, size, user_name, created, downloads)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING name, blob, size, user_name AS user, created, downloads;

-- name: nets_note_downloads
-- Adds to download counts, in bulk.
UPDATE nets SET downloads = downloads + noted.count
FROM unnest($1::text[], $2::bigint[]) AS noted (name, count)
WHERE nets.name = noted.name;

-- name: nets_forget
-- Removes the nets stored in these blobs.
DELETE FROM nets WHERE blob = ANY ($1::text[]);

-- name: nets_known
-- Those of the blobs that contain a net.
SELECT blob FROM nets WHERE blob = ANY ($1::text[]);

-- name: nets_blobs
-- A page of the blobs that contain nets, in order, with what they should be.
SELECT blob AS key, size, coalesce(substring(name FROM '[0-9a-f]{12,64}'), '') AS digest FROM nets WHERE blob > $1 ORDER BY blob LIMIT $2;
