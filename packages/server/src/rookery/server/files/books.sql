-- name: books_get
-- One book by its exact name.
SELECT name, blob, size, sha256, sri, openings, user_name AS user, created
FROM books
WHERE name = $1;

-- name: books_all
-- All books, by name.
SELECT name, blob, size, sha256, sri, openings, user_name AS user, created
FROM books
ORDER BY name COLLATE "C";

-- name: books_add
-- Adds a book, or returns the stored one with that name.
INSERT INTO books (name, blob, size, sha256, sri, openings, user_name, created)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING name, blob, size, sha256, sri, openings, user_name AS user, created;

-- name: books_forget
-- Removes the books stored in these blobs, which frees their names.
DELETE FROM books WHERE blob = ANY ($1::text[]);

-- name: books_known
-- Those of the blobs that contain a book.
SELECT blob FROM books WHERE blob = ANY ($1::text[]);

-- name: books_blobs
-- A page of the blobs that contain books, in order, with what they should be.
SELECT blob AS key, size, sha256 AS digest FROM books WHERE blob > $1 ORDER BY blob LIMIT $2;
