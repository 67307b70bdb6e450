-- name: holdings_all
-- The engines that files were given for.
SELECT file, engine FROM holdings;

-- name: holdings_add
-- A file is an engine's; the first one counts.
INSERT INTO holdings (file, engine) VALUES ($1, $2) ON CONFLICT (file) DO NOTHING;

-- name: holdings_remove
-- A file is nobody's any more.
DELETE FROM holdings WHERE file = $1;

-- name: given_again_all
-- Files that were there in secret when somebody gave them.
SELECT file, engine, user_name AS "user", given AS at, size FROM given_again
ORDER BY given, user_name COLLATE "C";

-- name: given_again_add
-- A file is given again; nothing where the same user has done so.
INSERT INTO given_again (file, engine, user_name, given, size) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (file, engine, user_name) DO NOTHING RETURNING file;

-- name: given_again_remove
-- It is taken back.
DELETE FROM given_again WHERE file = $1 AND engine = $2 AND user_name = $3;

-- name: given_again_forget
-- The file itself is gone.
DELETE FROM given_again WHERE file = $1;
