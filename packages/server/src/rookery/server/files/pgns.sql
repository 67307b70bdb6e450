-- name: pgns_add
-- Adds the row of an upload whose games are stored in a blob.
INSERT INTO pgns (run, task, blob, size, at) VALUES ($1, $2, $3, $4, $5);

-- name: pgns_index
-- Stores the index of an upload's games.
INSERT INTO game_index (blob, run, task, at, games, endings, plies, openings, places)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: pgns_sum
-- Adds games to the sums of their run, always in the same order to avoid deadlocks.
INSERT INTO game_sums (run, outcome, ending, new_is_white, games, plies)
SELECT $1, outcome, ending, new_is_white, games, plies
FROM unnest($2::smallint[], $3::smallint[], $4::boolean[], $5::bigint[], $6::bigint[])
    AS s (outcome, ending, new_is_white, games, plies)
ORDER BY outcome, ending, new_is_white
ON CONFLICT (run, outcome, ending, new_is_white) DO UPDATE SET
    games = game_sums.games + excluded.games, plies = game_sums.plies + excluded.plies;

-- name: pgns_sums
-- The numbers of a run's games by the way they ended.
SELECT outcome, ending, new_is_white, games, plies FROM game_sums WHERE run = $1
ORDER BY games DESC, outcome, ending, new_is_white;

-- name: pgns_latest_indexed
-- The index of the games of a run's latest uploads, with the blobs that are still stored.
SELECT g.task, g.games, g.endings, g.plies, g.openings, g.places, pgns.blob,
    (sum(g.games) OVER (PARTITION BY g.task ORDER BY g.at, g.blob) - g.games)::bigint AS number
FROM game_index AS g LEFT JOIN pgns USING (blob)
WHERE g.run = $1
ORDER BY g.at DESC, g.blob
LIMIT $2;

-- name: pgns_indexed_of_task
-- The index of a task's games, with the blobs that are still stored; null for the others.
SELECT pgns.blob, g.games, g.endings, g.plies, g.openings, g.places
FROM game_index AS g LEFT JOIN pgns USING (blob)
WHERE g.run = $1 AND g.task = $2
ORDER BY g.at, g.blob
LIMIT $3;

-- name: pgns_latest
-- The latest uploads of a run that are still stored.
SELECT run, task, blob, size, at FROM pgns WHERE run = $1 ORDER BY id DESC LIMIT $2;

-- name: pgns_indexed
-- The index of a task's games, including those that were removed.
SELECT games, endings, plies, openings, places
FROM game_index
WHERE run = $1 AND task = $2
ORDER BY at, blob
LIMIT $3;

-- name: pgns_indexed_of_run
-- The uploads of a run that contain its games from a position on, task by task, with their own
-- positions in the run and in their task.
WITH placed AS (
    SELECT
        blob, games,
        (sum(games) OVER (ORDER BY task, at, blob) - games)::bigint AS place,
        (sum(games) OVER (PARTITION BY task ORDER BY at, blob) - games)::bigint AS number
    FROM game_index
    WHERE run = $1
)
SELECT g.task, g.games, g.endings, g.plies, g.openings, g.places, placed.place, placed.number
FROM placed JOIN game_index AS g USING (blob)
WHERE placed.place < $2::bigint + $3::bigint AND placed.place + placed.games > $2
ORDER BY placed.place;

-- name: pgns_of_task
-- The uploads of one task, in the order of their arrival.
SELECT run, task, blob, size, at FROM pgns WHERE run = $1 AND task = $2 ORDER BY id;

-- name: pgns_present
-- Those of these tasks, which may belong to several runs, that have uploads.
SELECT t.run, t.task
FROM unnest($1::text[], $2::integer[]) AS t (run, task)
WHERE EXISTS (SELECT FROM pgns WHERE pgns.run = t.run AND pgns.task = t.task);

-- name: pgns_of_run
-- The uploads of a run, task by task.
SELECT run, task, blob, size, at FROM pgns WHERE run = $1 ORDER BY task, id;

-- name: pgns_of_tasks
-- Those of these tasks that have uploads.
SELECT DISTINCT task FROM pgns WHERE run = $1 AND task = ANY ($2::integer[]);

-- name: pgns_known
-- Those of the blobs that a row names.
SELECT blob FROM pgns WHERE blob = ANY ($1::text[]);

-- name: pgns_expired
-- Expired uploads: days after a run's end ($3), others for long games or deleted runs ($4; $6 is the
-- base time from which games are long); or days after their arrival while a run continues ($5).
-- Without a number of days they never expire.
SELECT pgns.run, pgns.task, pgns.blob, pgns.size, pgns.at
FROM pgns
LEFT JOIN runs ON runs.id = pgns.run
WHERE pgns.at < $1::timestamptz - make_interval(days => least($3::int, $4::int, $5::int))
AND CASE WHEN runs.finished THEN greatest(pgns.at, runs.updated) ELSE pgns.at END
    < $1::timestamptz - make_interval(days => CASE
        WHEN runs.id IS NULL OR runs.deleted THEN $4::int
        WHEN runs.finished AND runs.tc_base >= $6 THEN $4::int
        WHEN runs.finished THEN $3::int
        ELSE $5::int
    END)
ORDER BY pgns.at
LIMIT $2;

-- name: pgns_forget
-- Removes the rows of these blobs.
DELETE FROM pgns WHERE blob = ANY ($1::text[]);

-- name: pgns_blobs
-- A page of the blobs that contain uploaded games, in order, with what they should be.
SELECT blob AS key, size, '' AS digest FROM pgns WHERE blob > $1 ORDER BY blob LIMIT $2;
