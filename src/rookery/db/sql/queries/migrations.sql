-- name: migrations_lock
-- One process at a time migrates.
SELECT pg_try_advisory_lock($1);

-- name: migrations_begun
-- Whether this database has ever been migrated.
SELECT to_regclass('schema_migrations') IS NOT NULL;

-- name: migrations_applied
-- What has been applied, in order; the column `needs` came later than the table.
SELECT number, name, checksum,
    coalesce((to_jsonb(schema_migrations) ->> 'needs')::integer, 0) AS needs
FROM schema_migrations
ORDER BY number;

-- name: migrations_served
-- Whether a server is at work on this database.
SELECT EXISTS (SELECT FROM lease WHERE expires_at > clock_timestamp());

-- name: migrations_patience
-- How long one attempt waits for a lock, behind which others may have to wait.
SET LOCAL lock_timeout = '1s';

-- name: migrations_hold_writers
-- Lets writes that are under way end and makes the next ones wait. A lock of the row would be
-- overtaken by one write after the other; locks of the table keep their order.
LOCK TABLE fence IN EXCLUSIVE MODE;

-- name: migrations_note
-- Written in the transaction of the migration itself.
INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3);

-- name: migrations_note_needs
-- What code must know from now on; written in the same transaction.
UPDATE schema_migrations SET needs = $2 WHERE number = $1;

-- name: migrations_broken_indexes
-- Indexes that were not finished.
SELECT pg_class.relname AS name, pg_class.oid::regclass::text AS quoted
FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
WHERE NOT pg_index.indisvalid AND pg_class.relnamespace = 'public'::regnamespace;

-- name: migrations_older_servers
-- Live servers whose code does not know a migration. Code from before the table of instances has no
-- row there: the holder of a lease without one is as old as can be.
SELECT name FROM instances
WHERE schema < $1 AND seen > clock_timestamp() - interval '10 seconds'
UNION ALL
SELECT holder FROM lease
WHERE expires_at > clock_timestamp()
    AND NOT EXISTS (SELECT FROM instances WHERE instances.name = lease.holder)
ORDER BY name;
