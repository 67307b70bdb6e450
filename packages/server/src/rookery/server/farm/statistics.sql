-- name: credits_due
-- Finished runs that have changed since they were counted, or were never counted, oldest first.
SELECT runs.id AS run, runs.sequence
FROM runs
LEFT JOIN credited_runs AS c ON c.run = runs.id
WHERE runs.finished AND c.sequence IS DISTINCT FROM runs.sequence
ORDER BY runs.id
LIMIT $1;

-- name: credits_played
-- The games of each user's machines in a run, without those that were struck out.
SELECT
    machine ->> 'username' AS user_name,
    sum(wins + losses + draws + coalesce(late.games, 0))::bigint AS games,
    max(coalesce(late.reported, tasks.reported)) AS last
FROM tasks
LEFT JOIN late_games AS late ON late.run = tasks.run AND late.task = tasks.id
WHERE tasks.run = $1 AND NOT bad
GROUP BY 1
HAVING sum(wins + losses + draws + coalesce(late.games, 0)) > 0;

-- name: credits_late
-- Stores the games of a task that came after the end of its run.
INSERT INTO late_games (run, task, games, reported) VALUES ($1, $2, $3, $4)
ON CONFLICT (run, task) DO UPDATE
SET games = excluded.games, reported = excluded.reported
WHERE late_games.games < excluded.games;

-- name: credits_again
-- Marks a run to be counted again.
DELETE FROM credited_runs WHERE run = $1;

-- name: credits_drop
-- Removes the contributions that a run was counted for.
DELETE FROM contributions WHERE run = $1;

-- name: credits_add
-- Adds a user's contribution to a run.
INSERT INTO contributions (run, user_name, games, core_hours, last) VALUES ($1, $2, $3, $4, $5);

-- name: credits_done
-- Notes that a run is counted.
INSERT INTO credited_runs (run, sequence) VALUES ($1, $2)
ON CONFLICT (run) DO UPDATE SET sequence = excluded.sequence;

-- name: statistics_clear
-- Removes the sums before they are computed anew.
DELETE FROM user_statistics;

-- name: statistics_sum_up
-- Computes the contributions and submitted runs of each user, over all time and since a time.
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
-- A page of contributors, largest contribution first.
SELECT user_name, games, core_hours, tests, last
FROM user_statistics
WHERE period = $1
ORDER BY core_hours DESC, user_name
LIMIT $2 OFFSET $3;

-- name: statistics_search
-- Contributors whose name contains a text, in the chosen order, with their ranks among all.
WITH ranked AS (
    SELECT
        row_number() OVER (
            ORDER BY
                CASE $3
                    WHEN 'games' THEN games
                    WHEN 'tests' THEN tests
                    WHEN 'last' THEN extract(epoch FROM last)
                    ELSE core_hours
                END DESC NULLS LAST,
                core_hours DESC, user_name
        )::integer AS place,
        user_name, games, core_hours, tests, last
    FROM user_statistics
    WHERE period = $1
)
SELECT
    place, user_name, games, core_hours, tests, last, (count(*) OVER ())::integer AS found
FROM ranked
WHERE position(lower($2) IN lower(user_name)) > 0
ORDER BY place
LIMIT $4 OFFSET $5;

-- name: statistics_totals
-- The contributions of all users in a period.
SELECT
    count(*)::integer AS users, coalesce(sum(games), 0)::bigint AS games,
    coalesce(sum(core_hours), 0)::float8 AS core_hours
FROM user_statistics
WHERE period = $1;

-- name: statistics_of_users
-- The contributions of some users in each period.
SELECT period, user_name, games, core_hours, tests, last
FROM user_statistics
WHERE user_name = ANY ($1::text[]);

-- name: statistics_hours
-- The core hours of some users' machines in all.
SELECT user_name, core_hours FROM user_statistics
WHERE period = 'all' AND user_name = ANY ($1::text[]);

-- name: accounts_drop_idle
-- Deletes unused accounts that were created within a time span, and logs it. Expensive conditions
-- come second, when few names are left.
WITH quiet AS MATERIALIZED (
    SELECT name FROM users
    WHERE created > $1 AND created <= $2 AND groups = '{}' AND NOT blocked
        AND NOT EXISTS (SELECT FROM team_members WHERE user_name = users.name)
        AND NOT EXISTS (
            SELECT FROM tokens
            WHERE user_name = users.name AND revoked IS NULL AND coalesce(expires > $3, true)
        )
        AND NOT EXISTS (SELECT FROM actions WHERE username = users.name)
        AND NOT EXISTS (SELECT FROM actions WHERE subject = users.name AND action = $8)
        AND NOT EXISTS (SELECT FROM nets WHERE user_name = users.name)
        AND NOT EXISTS (SELECT FROM books WHERE user_name = users.name)
        AND NOT EXISTS (SELECT FROM repeated_uploads WHERE user_name = users.name)
        AND NOT EXISTS (SELECT FROM binaries WHERE user_name = users.name)
        AND NOT EXISTS (SELECT FROM engines WHERE changed_by = users.name)
),
idle AS MATERIALIZED (
    SELECT name FROM quiet
    WHERE NOT EXISTS (SELECT FROM runs WHERE owner = quiet.name)
        AND NOT EXISTS (SELECT FROM contributions WHERE user_name = quiet.name)
        AND NOT EXISTS (
            SELECT FROM recalled_machines WHERE starts_with(short_name, quiet.name || '-')
        )
        AND NOT EXISTS (
            SELECT FROM blocked_machines WHERE starts_with(short_name, quiet.name || '-')
        )
        AND NOT EXISTS (
            SELECT FROM runs JOIN tasks ON run = runs.id
            WHERE NOT finished AND machine ->> 'username' = quiet.name
        )
    ORDER BY name
    LIMIT $5
),
gone AS (
    DELETE FROM users USING idle WHERE users.name = idle.name RETURNING users.name
)
INSERT INTO actions (at, action, username, message, subject)
SELECT $3, $6, $7, $4, name FROM gone
RETURNING subject AS name;
