-- name: migrations_lock
-- Takes the lock of migrations, which one process at a time can have.
SELECT pg_try_advisory_lock($1);

-- name: migrations_begun
-- Whether this database has ever been migrated.
SELECT to_regclass('schema_migrations') IS NOT NULL;

-- name: migrations_applied
-- The applied migrations, in order; the column `needs` is newer than the table.
SELECT number, name, checksum,
    coalesce((to_jsonb(schema_migrations) ->> 'needs')::integer, 0) AS needs
FROM schema_migrations
ORDER BY number;

-- name: migrations_served
-- Whether a server uses this database.
SELECT EXISTS (SELECT FROM lease WHERE expires_at > clock_timestamp());

-- name: migrations_patience
-- Sets how long one attempt waits for a lock, since others may have to wait behind it.
SET LOCAL lock_timeout = '1s';

-- name: migrations_hold_writers
-- Waits for writes in progress and makes new ones wait. A row lock could be overtaken by one write
-- after another; table locks are granted in order.
LOCK TABLE fence IN EXCLUSIVE MODE;

-- name: migrations_note
-- Stores an applied migration, in the migration's own transaction.
INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3);

-- name: migrations_note_needs
-- Stores what code must know from now on, in the same transaction.
UPDATE schema_migrations SET needs = $2 WHERE number = $1;

-- name: migrations_broken_indexes
-- Indexes whose creation was interrupted.
SELECT pg_class.relname AS name, pg_class.oid::regclass::text AS quoted
FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
WHERE NOT pg_index.indisvalid AND pg_class.relnamespace = 'public'::regnamespace;

-- name: migrations_older_servers
-- Live servers whose code does not know a migration. Code from before the table of instances has no
-- row there: a lease holder without a row counts as the oldest possible.
SELECT name FROM instances
WHERE schema < $1 AND seen > clock_timestamp() - interval '10 seconds'
UNION ALL
SELECT holder FROM lease
WHERE expires_at > clock_timestamp()
    AND NOT EXISTS (SELECT FROM instances WHERE instances.name = lease.holder)
ORDER BY name;
