-- name: credits_due
-- Runs that are over and were not counted as they are now; the oldest first.
SELECT runs.id AS run, runs.sequence
FROM runs
LEFT JOIN credited_runs AS c ON c.run = runs.id
WHERE runs.finished AND c.sequence IS DISTINCT FROM runs.sequence
ORDER BY runs.id
LIMIT $1;

-- name: credits_played
-- What users' machines played in a run; games that were struck out do not count.
SELECT
    machine ->> 'user' AS user_name, sum(wins + losses + draws)::bigint AS games,
    max(reported) AS last
FROM tasks
WHERE run = $1 AND NOT bad
GROUP BY 1
HAVING sum(wins + losses + draws) > 0;

-- name: credits_drop
-- Forgets what a run was counted for.
DELETE FROM contributions WHERE run = $1;

-- name: credits_add
-- What a user's machines gave to a run.
INSERT INTO contributions (run, user_name, games, core_hours, last) VALUES ($1, $2, $3, $4, $5);

-- name: credits_done
-- Notes that a run is counted.
INSERT INTO credited_runs (run, sequence) VALUES ($1, $2)
ON CONFLICT (run) DO UPDATE SET sequence = excluded.sequence;

-- name: statistics_clear
-- Makes room for new sums.
DELETE FROM user_statistics;

-- name: statistics_sum_up
-- Adds up contributions and submitted runs for each user, over all time and since a moment.
WITH periods (period, since) AS (
    VALUES ('all', '-infinity'::timestamptz), ('month', $1::timestamptz)
),
given AS (
    SELECT
        period, user_name, sum(games)::bigint AS games, sum(core_hours) AS core_hours,
        max(last) AS last
    FROM contributions JOIN periods ON last >= since
    GROUP BY period, user_name
),
submitted AS (
    SELECT period, owner AS user_name, count(*)::integer AS tests
    FROM runs JOIN periods ON created >= since
    WHERE NOT deleted
    GROUP BY period, owner
)
INSERT INTO user_statistics (period, user_name, games, core_hours, tests, last)
SELECT
    period, user_name, coalesce(games, 0), coalesce(core_hours, 0), coalesce(tests, 0), last
FROM given FULL JOIN submitted USING (period, user_name);

-- name: statistics_page
-- Those who gave most, a page of them.
SELECT user_name, games, core_hours, tests, last
FROM user_statistics
WHERE period = $1
ORDER BY core_hours DESC, user_name
LIMIT $2 OFFSET $3;

-- name: statistics_hours
-- Core hours that a user's machines gave in all.
SELECT core_hours FROM user_statistics WHERE period = 'all' AND user_name = $1;
