-- name: doctor_clock
-- The database's clock.
SELECT clock_timestamp();

-- name: doctor_connections
-- The largest number of sessions, and the present one.
SELECT
    current_setting('max_connections')::int AS most,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used;

-- name: doctor_approvers
-- The number of users who may approve runs and accounts.
SELECT count(*) FROM users WHERE $1 = ANY (groups) AND NOT blocked AND NOT pending;

-- name: doctor_backup
-- The time of the latest backup.
SELECT made FROM findings WHERE kind = 'backup' AND about = '';
