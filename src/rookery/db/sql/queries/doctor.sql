-- name: doctor_clock
-- The database's clock.
SELECT clock_timestamp();

-- name: doctor_connections
-- How many sessions there may be, and how many there are.
SELECT
    current_setting('max_connections')::int AS most,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used;

-- name: doctor_approvers
-- How many may approve runs and accounts.
SELECT count(*) FROM users WHERE $1 = ANY (groups) AND NOT blocked AND NOT pending;

-- name: doctor_backup
-- When the latest backup was made.
SELECT made FROM findings WHERE kind = 'backup' AND about = '';
