-- name: secrets_get
-- A secret by its name.
SELECT value FROM secrets WHERE name = $1;

-- name: secrets_add
-- Stores a secret, unless there is one already.
INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING;
