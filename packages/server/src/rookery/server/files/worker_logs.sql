-- name: worker_logs_add
-- Adds the row of a log that is stored in a blob.
INSERT INTO worker_logs (run, task, call, worker, at, blob, size)
VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: worker_logs_count
-- How many logs a task has.
SELECT count(*) FROM worker_logs WHERE run = $1 AND task = $2;

-- name: worker_logs_of_run
-- A page of the logs of a run, newest first.
SELECT id, run, task, call, worker, at, blob, size
FROM worker_logs
WHERE run = $1
ORDER BY id DESC
LIMIT $2 OFFSET $3;

-- name: worker_logs_of_tasks
-- The logs of some tasks, by run and number.
SELECT l.id, l.run, l.task, l.call, l.worker, l.at, l.blob, l.size
FROM unnest($1::text[], $2::integer[]) AS t (run, task)
JOIN worker_logs AS l ON l.run = t.run AND l.task = t.task;

-- name: worker_logs_get
-- A log by its number.
SELECT id, run, task, call, worker, at, blob, size FROM worker_logs WHERE id = $1;

-- name: worker_logs_known
-- Those of the blobs that a row names.
SELECT blob FROM worker_logs WHERE blob = ANY ($1::text[]);

-- name: worker_logs_expired
-- Expired logs.
SELECT id, run, task, call, worker, at, blob, size
FROM worker_logs
WHERE at < $1
ORDER BY at
LIMIT $2;

-- name: worker_logs_forget
-- Removes the rows of these blobs.
DELETE FROM worker_logs WHERE blob = ANY ($1::text[]);

-- name: worker_logs_blobs
-- A page of the blobs that contain workers' logs, in order, with what they should be.
SELECT blob AS key, size, '' AS digest FROM worker_logs WHERE blob > $1 ORDER BY blob LIMIT $2;
