-- name: lease_look
-- The primary and its lease, locked against other candidates.
SELECT
    holder, address,
    extract(epoch FROM greatest(expires_at, 'epoch') - clock_timestamp())::float8 AS seconds_left
FROM lease
FOR UPDATE;

-- name: lease_glance
-- The primary and the remaining time of its lease, for standbys.
SELECT
    holder, address,
    extract(epoch FROM greatest(expires_at, 'epoch') - clock_timestamp())::float8 AS seconds_left
FROM lease;

-- name: lease_read
-- The primary, for processes that forward calls to it.
SELECT epoch, holder, address, expires_at > clock_timestamp() AS live FROM lease;

-- name: lease_take
-- Stores the new primary, in the same transaction as raising the fence.
UPDATE lease
SET epoch = $1, holder = $2, address = $3,
    expires_at = clock_timestamp() + make_interval(secs => $4);

-- name: lease_renew
-- Renews the holder's lease; changes nothing if another process has taken over. The commit does not
-- wait for a disk or a standby. If it is lost with a server of the database, another process may
-- take over while the holder still trusts its lease, until its next heartbeat: for about a second
-- it may answer signs of life and reads from outdated memory. The fence refuses its writes.
UPDATE lease
SET expires_at = clock_timestamp() + make_interval(secs => $2)
WHERE epoch = $1 AND set_config('synchronous_commit', 'off', true) = 'off'
RETURNING epoch;

-- name: lease_release
-- Ends the lease, so that another process can take over at once. This process lives on, so its
-- sessions are not ended: the fence is enough.
WITH released AS (
    UPDATE lease SET holder = '', address = '', expires_at = '-infinity' WHERE epoch = $1
    RETURNING epoch
)
SELECT pg_notify('lease', 'released') FROM released;

-- name: lease_tell
-- Notifies all processes about the lease.
SELECT pg_notify('lease', $1);
