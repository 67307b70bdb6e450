-- name: migrations_lock
-- One process at a time migrates.
SELECT pg_try_advisory_lock($1);

-- name: migrations_begun
-- Whether this database has ever been migrated.
SELECT to_regclass('schema_migrations') IS NOT NULL;

-- name: migrations_applied
-- What has been applied, in order.
SELECT number, name, checksum FROM schema_migrations ORDER BY number;

-- name: migrations_hold_writers
-- Lets writes that are under way end and makes the next ones wait.
SELECT epoch FROM fence FOR UPDATE;

-- name: migrations_note
-- Written in the transaction of the migration itself.
INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3);
