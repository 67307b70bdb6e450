-- name: engines_all
-- All engines that were ever stored, including removed ones, by name.
SELECT record, changed, changed_by, removed FROM engines ORDER BY name COLLATE "C";

-- name: engines_save
-- Stores the new state of an engine.
INSERT INTO engines (name, record, changed, changed_by, removed)
VALUES ($1, $2::jsonb, $3, $4, $5)
ON CONFLICT (name) DO UPDATE
SET record = excluded.record, changed = excluded.changed, changed_by = excluded.changed_by,
    removed = excluded.removed;

-- name: engines_changed
-- Notifies every process to read the engines again.
SELECT pg_notify('engines', $1);

-- name: engine_versions_add
-- Stores the new state of an engine as its next version.
INSERT INTO engine_versions (name, version, record, changed, changed_by, removed)
SELECT $1, coalesce(max(version), 0) + 1, $2::jsonb, $3, $4, $5
FROM engine_versions WHERE name = $1;

-- name: engine_versions_of
-- All versions of an engine, oldest first.
SELECT version, record, changed, changed_by, removed FROM engine_versions
WHERE name = $1 ORDER BY version;
