-- name: files_hold
-- Keeps everybody from removing files until this session ends, because a backup copies them; waits
-- for those who are about to.
SELECT pg_advisory_lock(1919905644);

-- name: files_may_go
-- Whether files may be removed, which they may unless a backup is under way; none begins before the
-- end of this transaction.
SELECT pg_try_advisory_xact_lock_shared(1919905644);

-- name: files_database
-- What tells this database from every copy of its rows: the number of its cluster, and its own there.
SELECT system_identifier::text || '-' || (
    SELECT oid FROM pg_database WHERE datname = current_database()
)::text
FROM pg_control_system();
