-- name: instances_put
-- A process says that it lives; gives how many others do, which form of forwarded calls all of them
-- read (those that do not say it read the first), and the number of the last commit. It is not
-- waited for to reach the disk.
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
    (SELECT sequence FROM commits) AS sequence;

-- name: instances_all
-- The processes that were heard of within an hour, with how long ago, the primary first.
SELECT
    name, address, version, schema, role, started, figures,
    extract(epoch FROM clock_timestamp() - seen)::float8 AS silent_seconds
FROM instances
WHERE seen > clock_timestamp() - interval '1 hour'
ORDER BY role, started;

-- name: instances_remove
-- A process that stops, and those that were not heard of for an hour.
DELETE FROM instances WHERE name = $1 OR seen < clock_timestamp() - interval '1 hour';
