-- name: files_hold
-- Prevents all processes from removing files until this session ends, because a backup copies them;
-- waits for removals in progress.
SELECT pg_advisory_lock(1919905644);

-- name: files_may_go
-- Whether files may be removed, which is forbidden during a backup; no backup begins before the end
-- of this transaction.
SELECT pg_try_advisory_xact_lock_shared(1919905644);

-- name: files_database
-- Distinguishes this database from every copy of its rows: the number of its cluster, and its own
-- number in it.
SELECT system_identifier::text || '-' || (
    SELECT oid FROM pg_database WHERE datname = current_database()
)::text
FROM pg_control_system();
