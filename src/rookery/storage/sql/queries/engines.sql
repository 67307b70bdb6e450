-- name: engines_all
-- All engines that were ever written down, by name.
SELECT record, changed, changed_by, removed FROM engines ORDER BY name COLLATE "C";

-- name: engines_save
-- An engine as it is from now on.
INSERT INTO engines (name, record, changed, changed_by, removed)
VALUES ($1, $2::jsonb, $3, $4, $5)
ON CONFLICT (name) DO UPDATE
SET record = excluded.record, changed = excluded.changed, changed_by = excluded.changed_by,
    removed = excluded.removed;

-- name: engines_changed
-- Tells every process to read the engines again.
SELECT pg_notify('engines', $1);
