-- name: fence_pass
-- Begins a write of the primary: no row if its epoch is over, else takeovers wait for this write.
SELECT epoch FROM fence WHERE epoch = $1 FOR SHARE;

-- name: fence_pass_any
-- Begins a write that any process may make: takeovers wait for it, whatever the epoch.
SELECT epoch FROM fence FOR SHARE;

-- name: fence_raise
-- Takes the right to write from all other processes.
UPDATE fence SET epoch = epoch + 1 RETURNING epoch;

-- name: fence_takeover_patience
-- Sets how long one attempt at raising the fence waits for writes in progress.
SET LOCAL lock_timeout = '400ms';

-- name: fence_end_holder
-- Ends the sessions of the previous holder, whose process may be suspended in the middle of a
-- transaction.
SELECT count(pg_terminate_backend(pid))
FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user
    AND application_name = $1 AND pid <> pg_backend_pid();

-- name: fence_end_stragglers
-- Ends sessions of Rookery whose write has lasted long enough to hold up a takeover; sessions that
-- only read are kept.
SELECT count(pg_terminate_backend(pid))
FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user
    AND application_name LIKE 'rookery %' AND pid <> pg_backend_pid()
    AND xact_start < clock_timestamp() - interval '300 milliseconds'
    AND pid IN (
        SELECT pid FROM pg_locks
        WHERE relation = 'fence'::regclass AND mode = 'RowShareLock' AND granted
    );
