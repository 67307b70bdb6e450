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
-- A new book, or the one that had the name before.
INSERT INTO books (name, blob, size, sha256, sri, openings, user_name, created)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING name, blob, size, sha256, sri, openings, user_name AS user, created;

-- name: books_forget
-- Removes the books that lie in these blobs, and so frees their names.
DELETE FROM books WHERE blob = ANY ($1::text[]);

-- name: books_known
-- Those of the blobs that a book lies in.
SELECT blob FROM books WHERE blob = ANY ($1::text[]);

-- name: books_blobs
-- A page of the blobs that books lie in, in their order.
SELECT blob FROM books WHERE blob > $1 ORDER BY blob LIMIT $2;
