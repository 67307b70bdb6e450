-- name: instances_put
-- Notes that a process is alive; returns the number of other live ones, the newest form of
-- forwarded calls that all of them read (1 for those that do not tell), and the number of the last
-- commit, and the database's clock. The commit does not wait for the disk.
INSERT INTO instances (name, address, version, schema, role, started, seen, figures)
SELECT $1, $2, $3, $4, $5, $6, clock_timestamp(), $7
WHERE set_config('synchronous_commit', 'off', true) = 'off'
ON CONFLICT (name) DO UPDATE
SET role = excluded.role, seen = excluded.seen, figures = excluded.figures
RETURNING
    (SELECT count(*)::integer FROM instances
     WHERE name <> $1 AND seen > clock_timestamp() - interval '10 seconds') AS others,
    (SELECT min(coalesce((figures::json ->> 'reads_form')::integer, 1)) FROM instances
     WHERE name <> $1 AND seen > clock_timestamp() - interval '10 seconds') AS reads_form,
    (SELECT sequence FROM commits) AS sequence, clock_timestamp() AS time;

-- name: instances_all
-- The processes that were alive within an hour, with the time since then, the primary first. The
-- lease says which one is primary, because the row of a process may be out of date.
SELECT
    name, instances.address, version, schema,
    CASE
        WHEN lease.holder = name AND lease.expires_at > clock_timestamp() THEN 'primary'
        ELSE 'secondary'
    END AS role,
    started, figures,
    extract(epoch FROM clock_timestamp() - seen)::float8 AS silent_seconds
FROM instances CROSS JOIN lease
WHERE seen > clock_timestamp() - interval '1 hour'
ORDER BY role, started, name;

-- name: instances_remove
-- Removes a process that stops, and those not heard of for an hour.
DELETE FROM instances WHERE name = $1 OR seen < clock_timestamp() - interval '1 hour';
