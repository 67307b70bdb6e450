-- name: holdings_all
-- The engines that files were given for.
SELECT file, engine FROM holdings;

-- name: holdings_add
-- A file is an engine's; the first one counts.
INSERT INTO holdings (file, engine) VALUES ($1, $2) ON CONFLICT (file) DO NOTHING;

-- name: holdings_remove
-- A file is nobody's any more.
DELETE FROM holdings WHERE file = $1;
