-- name: lease_look
-- Who is primary, locked against others who want to be.
SELECT
    holder, address,
    extract(epoch FROM greatest(expires_at, 'epoch') - clock_timestamp())::float8 AS seconds_left
FROM lease
FOR UPDATE;

-- name: lease_glance
-- Who is primary and for how long, for those who stand by.
SELECT
    holder, address,
    extract(epoch FROM greatest(expires_at, 'epoch') - clock_timestamp())::float8 AS seconds_left
FROM lease;

-- name: lease_read
-- Who is primary, for those who forward to it.
SELECT epoch, holder, address, expires_at > clock_timestamp() AS live FROM lease;

-- name: lease_take
-- Writes the new primary down, together with raising the fence.
UPDATE lease
SET epoch = $1, holder = $2, address = $3,
    expires_at = clock_timestamp() + make_interval(secs => $4);

-- name: lease_renew
-- The holder's heartbeat; changes nothing when another has taken over. It is not waited for to reach
-- a disk or a standby. One that is lost with a server of the database may cost a takeover while the
-- holder still trusts its lease, until its next heartbeat tells: for about a second it may answer
-- beats and reads from memory as of before. The fence refuses what it writes.
UPDATE lease
SET expires_at = clock_timestamp() + make_interval(secs => $2)
WHERE epoch = $1 AND set_config('synchronous_commit', 'off', true) = 'off'
RETURNING epoch;

-- name: lease_release
-- Lets the next one take over at once. The process lives on, so that its sessions stay: the fence
-- is enough.
WITH released AS (
    UPDATE lease SET holder = '', address = '', expires_at = '-infinity' WHERE epoch = $1
    RETURNING epoch
)
SELECT pg_notify('lease', 'released') FROM released;

-- name: lease_tell
-- Tells all processes something about the lease.
SELECT pg_notify('lease', $1);
