-- name: file_engines_all
-- The engines of files that were uploaded for one.
SELECT file, engine FROM file_engines;

-- name: file_engines_add
-- Sets the engine of a file, unless it has one.
INSERT INTO file_engines (file, engine) VALUES ($1, $2) ON CONFLICT (file) DO NOTHING;

-- name: file_engines_remove
-- Removes the engine of a removed file.
DELETE FROM file_engines WHERE file = $1;

-- name: repeated_uploads_all
-- Uploads of existing files by users who could not see them.
SELECT file, engine, user_name AS "user", uploaded AS at, size FROM repeated_uploads
ORDER BY uploaded, user_name COLLATE "C";

-- name: repeated_uploads_add
-- Adds a repeated upload; returns nothing if it exists.
INSERT INTO repeated_uploads (file, engine, user_name, uploaded, size) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (file, engine, user_name) DO NOTHING RETURNING file;

-- name: repeated_uploads_remove
-- Removes one repeated upload; the file remains for others.
DELETE FROM repeated_uploads WHERE file = $1 AND engine = $2 AND user_name = $3;

-- name: repeated_uploads_forget
-- Removes all repeated uploads of a removed file.
DELETE FROM repeated_uploads WHERE file = $1;
