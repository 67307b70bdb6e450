-- name: runs_put
-- Adds or replaces runs that are new, or whose fixed part may have changed. A part of a round, like
-- all queries that read `pass`. Its columns are declared in row_types.py.
INSERT INTO runs (/* names */) SELECT /* values */
FROM pass, unnest(/* arrays */) AS r (/* names */)
ON CONFLICT (id) DO UPDATE SET /* replaced */;

-- name: runs_move
-- Updates runs whose fixed part is stored already.
UPDATE runs SET /* moved */
FROM pass, jsonb_array_elements($1::text::jsonb) AS r
CROSS JOIN LATERAL (SELECT /* entries */ OFFSET 0) AS m
WHERE runs.id = m.id
RETURNING 1;

-- name: tasks_put
-- Adds or replaces tasks that are new, or whose machine describes itself anew.
INSERT INTO tasks (/* names */) SELECT /* values */
FROM pass, jsonb_array_elements($1::text::jsonb) AS r
CROSS JOIN LATERAL (SELECT /* entries */ OFFSET 0) AS t
ON CONFLICT (run, id) DO UPDATE SET /* replaced */;

-- name: tasks_move
-- Updates tasks whose fixed part is stored already.
UPDATE tasks SET /* moved */
FROM pass, jsonb_array_elements($1::text::jsonb) AS r
CROSS JOIN LATERAL (SELECT /* entries */ OFFSET 0) AS m
WHERE tasks.run = m.run AND tasks.id = m.id
RETURNING 1;

-- name: bad_tasks_put
-- Adds the original results of tasks that were struck out.
INSERT INTO bad_tasks (
    run, task, wins, losses, draws, crashes, time_losses, p0, p1, p2, p3, p4, residual, colour
)
SELECT
    run, task, wins, losses, draws, crashes, time_losses, p0, p1, p2, p3, p4, residual, colour
FROM pass, unnest(
    $1::text::text[], $2::text::integer[], $3::text::integer[], $4::text::integer[],
    $5::text::integer[], $6::text::integer[], $7::text::integer[], $8::text::integer[],
    $9::text::integer[], $10::text::integer[], $11::text::integer[], $12::text::integer[],
    $13::text::float8[], $14::text::text[]
) WITH ORDINALITY AS b (
    run, task, wins, losses, draws, crashes, time_losses, p0, p1, p2, p3, p4, residual, colour,
    place
)
ORDER BY place
ON CONFLICT (run, task) DO NOTHING;

-- name: purges_put
-- Stores a purge that is due, or the progress of one.
INSERT INTO purges (run, actor, revive, culprit, toll)
SELECT run, actor, revive, culprit::jsonb, toll::jsonb
FROM pass, unnest(
    $1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::text[], $5::text::text[]
) AS p (run, actor, revive, culprit, toll)
ON CONFLICT (run) DO UPDATE SET
    actor = excluded.actor, revive = excluded.revive, culprit = excluded.culprit,
    toll = excluded.toll;

-- name: purges_end
-- Removes purges that are over.
DELETE FROM purges USING pass, unnest($1::text::text[]) AS over (id) WHERE run = over.id;

-- name: purges_all
-- Purges that are due or under way.
SELECT run, actor, revive, culprit, toll FROM purges ORDER BY run;

-- name: actions_add
-- Adds log lines, in order.
INSERT INTO actions (
    at, action, username, worker, run_id, run, task_id, message
)
SELECT
    at, action, username, worker, run_id, run, task_id, message
FROM pass, unnest(
    $1::text::timestamptz[], $2::text::text[], $3::text::text[], $4::text::text[],
    $5::text::text[], $6::text::text[], $7::integer[], $8::text::text[]
) WITH ORDINALITY AS a (
    at, action, username, worker, run_id, run, task_id, message, place
)
ORDER BY place;

-- name: samples_put
-- Stores chart points, replacing those with the same place.
INSERT INTO samples (
    run, place, at, games, p0, p1, p2, p3, p4, llr, cores, nps
)
SELECT
    run, place, at, games, p0, p1, p2, p3, p4, llr, cores, nps
FROM pass, unnest(
    $1::text::text[], $2::text::integer[], $3::text::timestamptz[], $4::text::integer[],
    $5::text::integer[], $6::text::integer[], $7::text::integer[], $8::text::integer[],
    $9::text::integer[], $10::text::float8[], $11::text::integer[], $12::float8[]
) AS s (
    run, place, at, games, p0, p1, p2, p3, p4, llr, cores, nps
)
ON CONFLICT (run, place) DO UPDATE SET
    at = excluded.at, games = excluded.games, p0 = excluded.p0, p1 = excluded.p1,
    p2 = excluded.p2, p3 = excluded.p3, p4 = excluded.p4, llr = excluded.llr,
    cores = excluded.cores, nps = excluded.nps;

-- name: samples_thin
-- Removes the points of runs that do not fit their present period.
DELETE FROM samples USING pass, unnest($1::text::text[], $2::text::integer[]) AS t (run, period)
WHERE samples.run = t.run AND samples.place % t.period <> 0;

-- name: provenance_add
-- Adds how batches of games were played, in order.
INSERT INTO provenance (
    run, task, at, games, runner, version, new_hash, base_hash, factor, latency_ms
)
SELECT
    run, task, at, games, runner, version, new_hash, base_hash, factor, latency_ms
FROM pass, unnest(
    $1::text::text[], $2::text::integer[], $3::text::timestamptz[], $4::text::integer[],
    $5::text::text[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::float8[],
    $10::text::float8[]
) WITH ORDINALITY AS p (
    run, task, at, games, runner, version, new_hash, base_hash, factor, latency_ms, place
)
ORDER BY place;

-- name: run_history_put
-- Adds entries to the trails of runs.
INSERT INTO run_history (run, place, entry)
SELECT run, place, entry::jsonb
FROM pass, unnest($1::text::text[], $2::text::integer[], $3::text::text[]) AS h (run, place, entry)
ON CONFLICT (run, place) DO UPDATE SET entry = excluded.entry;

-- name: blocks_put
-- Blocks a machine, or changes the message of its block.
INSERT INTO blocked_machines (short_name, message, at, actor)
SELECT short_name, message, at, actor
FROM pass, unnest(
    $1::text::text[], $2::text::text[], $3::text::timestamptz[], $4::text::text[]
) AS b (short_name, message, at, actor)
ON CONFLICT (short_name) DO UPDATE
SET message = excluded.message, at = excluded.at, actor = excluded.actor;

-- name: blocks_lift
-- Removes the blocks of machines.
DELETE FROM blocked_machines USING pass, unnest($1::text::text[]) AS free (name)
WHERE short_name = free.name;

-- name: recalled_put
-- Stores the histories of machines; run ids contain no spaces, so one text can hold a list of them.
INSERT INTO recalled_machines (short_name, seen, last)
SELECT short_name, string_to_array(seen, ' '), last
FROM unnest($1::text[], $2::text[], $3::text[]) AS r (short_name, seen, last)
ON CONFLICT (short_name) DO UPDATE SET seen = excluded.seen, last = excluded.last;

-- name: commits_lightly
-- Lets this transaction's commit return before it has reached the disk.
SET LOCAL synchronous_commit TO off;

-- name: tasks_seen
-- Stores the last signs of life of tasks. Rows that a group commit is writing are skipped, because
-- waiting for it could cause a deadlock.
WITH free AS (
    SELECT tasks.run, tasks.id, s.at
    FROM unnest($1::text[], $2::integer[], $3::timestamptz[]) AS s (run, id, at)
    JOIN tasks ON tasks.run = s.run AND tasks.id = s.id
    FOR UPDATE OF tasks SKIP LOCKED
)
UPDATE tasks SET seen = free.at FROM free WHERE tasks.run = free.run AND tasks.id = free.id;

-- name: tasks_close
-- Marks tasks as ended that ended with their run; skips locked rows like tasks_seen.
WITH free AS (
    SELECT tasks.run, tasks.id
    FROM unnest($1::text[], $2::integer[]) AS c (run, id)
    JOIN tasks ON tasks.run = c.run AND tasks.id = c.id
    WHERE tasks.active
    FOR UPDATE OF tasks SKIP LOCKED
)
UPDATE tasks SET active = false, ticket = NULL
FROM free
WHERE tasks.run = free.run AND tasks.id = free.id;

-- name: commits_count
-- Stores the number of a round, by which listeners catch up.
UPDATE commits SET sequence = $2 FROM pass WHERE sequence <= $2;

-- name: commits_sequence
-- The number of the last group commit.
SELECT sequence FROM commits;

-- name: commits_tell
-- Notifies all listeners. Run after the commit, since PostgreSQL serialises the commits of
-- transactions that notify.
SELECT pg_notify('fleet', $1);

-- name: runs_changed
-- The runs that changed after a commit, latest first.
SELECT id, sequence FROM (
    SELECT id, sequence FROM runs WHERE NOT finished AND sequence > $1
    UNION ALL
    (SELECT id, sequence FROM runs WHERE settled > $1 ORDER BY settled DESC LIMIT $2)
) AS changed
ORDER BY sequence DESC, id
LIMIT $2;

-- name: tasks_close_rest
-- Marks tasks as ended that ended with their run, if a crash left their rows active.
UPDATE tasks SET active = false, ticket = NULL
WHERE (run, id) IN (
    SELECT tasks.run, tasks.id
    FROM tasks JOIN runs ON runs.id = tasks.run
    WHERE tasks.active AND tasks.id < runs.closed_below
    LIMIT $1
);

-- name: runs_unfinished
-- All unfinished runs, in the order of creation.
SELECT * FROM runs WHERE NOT finished ORDER BY id;

-- name: runs_one
-- A run by its id.
SELECT * FROM runs WHERE id = $1;

-- name: runs_some
-- Runs by their ids.
SELECT * FROM runs WHERE id = ANY($1::text[]);

-- name: runs_finished
-- A page of finished runs, newest first; the code inserts its conditions.
SELECT * FROM runs
WHERE /* conditions */ true
ORDER BY listed DESC, id DESC
LIMIT $1 OFFSET $2;

-- name: runs_deleted
-- A page of deleted runs, newest first; the code inserts its conditions.
SELECT * FROM runs
WHERE /* conditions */ true
ORDER BY updated DESC, id DESC
LIMIT $1 OFFSET $2;

-- name: runs_finished_count
-- The number of runs in such a list, up to a limit; the code inserts its conditions.
SELECT count(*) FROM (SELECT FROM runs WHERE /* conditions */ true LIMIT $1) AS found;

-- name: runs_begun_by
-- Run ids between two texts, newest first, without those of hidden engines.
SELECT id FROM runs WHERE id >= $1 AND id < $2 AND NOT engines && $3::text[]
ORDER BY id DESC LIMIT $4;

-- name: runs_finished_since
-- How many runs have ended since a time, without those of hidden engines.
SELECT count(*) FROM runs WHERE listed >= $1 AND NOT engines && $2::text[];

-- name: run_history_of
-- The trails of these runs.
SELECT run, entry FROM run_history WHERE run = ANY($1::text[]) ORDER BY run, place;

-- name: tasks_active
-- All active tasks.
SELECT present_tasks.*
FROM present_tasks JOIN runs ON runs.id = run
WHERE active AND NOT finished
ORDER BY run, id;

-- name: tasks_active_of
-- The active tasks of some runs.
SELECT present_tasks.*
FROM present_tasks JOIN runs ON runs.id = run
WHERE run = ANY($1::text[]) AND active AND NOT finished
ORDER BY run, id;

-- name: tasks_sums
-- The sums over the tasks of each of some runs.
SELECT
    run, count(*)::integer AS tasks, sum(games) AS total,
    sum(CASE WHEN active THEN games ELSE t.wins + t.losses + t.draws END) AS committed,
    sum(t.wins) AS wins, sum(t.losses) AS losses, sum(t.draws) AS draws,
    sum(t.crashes) AS crashes, sum(t.time_losses) AS time_losses,
    sum(t.p0) AS p0, sum(t.p1) AS p1, sum(t.p2) AS p2, sum(t.p3) AS p3, sum(t.p4) AS p4
FROM present_tasks AS t
WHERE run = ANY($1::text[])
GROUP BY run;

-- name: runs_agree
-- Whether the sums of a run agree with its tasks; nothing for an unknown run.
SELECT
    (r.tasks, r.total, r.committed, r.workers, r.wins, r.losses, r.draws, r.crashes,
     r.time_losses, r.p0, r.p1, r.p2, r.p3, r.p4)
    IS NOT DISTINCT FROM
    (s.tasks, s.total, s.committed, s.workers, s.wins, s.losses, s.draws, s.crashes,
     s.time_losses, s.p0, s.p1, s.p2, s.p3, s.p4) AS agree
FROM runs AS r
CROSS JOIN LATERAL (
    SELECT
        count(*)::integer AS tasks, coalesce(sum(games), 0)::bigint AS total,
        coalesce(sum(CASE WHEN active THEN games ELSE wins + losses + draws END), 0)::bigint
            AS committed,
        count(*) FILTER (WHERE active)::integer AS workers,
        coalesce(sum(wins), 0)::bigint AS wins, coalesce(sum(losses), 0)::bigint AS losses,
        coalesce(sum(draws), 0)::bigint AS draws, coalesce(sum(crashes), 0)::bigint AS crashes,
        coalesce(sum(time_losses), 0)::bigint AS time_losses,
        coalesce(sum(p0), 0)::bigint AS p0, coalesce(sum(p1), 0)::bigint AS p1,
        coalesce(sum(p2), 0)::bigint AS p2, coalesce(sum(p3), 0)::bigint AS p3,
        coalesce(sum(p4), 0)::bigint AS p4
    FROM present_tasks AS t WHERE t.run = r.id
) AS s
WHERE r.id = $1;

-- name: tasks_one
-- A task by its key.
SELECT * FROM present_tasks WHERE run = $1 AND id = $2;

-- name: tasks_of_run
-- All tasks of a run.
SELECT * FROM present_tasks WHERE run = $1 ORDER BY id;

-- name: tasks_page
-- Tasks of a run within a range of numbers.
SELECT * FROM present_tasks WHERE run = $1 AND id >= $2 AND id < $3 ORDER BY id;

-- name: tasks_of_machine
-- The latest tasks of a machine, by the range of its processes' keys.
SELECT * FROM present_tasks
WHERE (machine ->> 'unique_key') COLLATE "C" >= $1 AND (machine ->> 'unique_key') COLLATE "C" < $2
    AND machine ->> 'username' = $3 AND (machine ->> 'concurrency')::integer = $4
ORDER BY created DESC
LIMIT $5;

-- name: tasks_by_contributor
-- The contributions to a run by user, processor, architecture and runner; for each of these the
-- groups with the most games, with the number of all groups and their games. A machine is
-- identified by its user and the first part of its key.
WITH played AS (
    SELECT
        machine ->> 'username' AS user_name, machine ->> 'worker_arch' AS arch,
        coalesce(machine -> 'rookery' ->> 'cpu', '') AS cpu,
        coalesce(machine -> 'rookery' ->> 'runner', '') AS runner,
        split_part(machine ->> 'unique_key', '-', 1) AS host,
        wins, losses, draws, crashes, time_losses, p0, p1, p2, p3, p4
    FROM tasks
    WHERE run = $1 AND NOT bad AND wins + losses + draws > 0
), grouped AS (
    SELECT
        CASE grouping(user_name, cpu, arch, runner)
            WHEN 7 THEN 'user' WHEN 11 THEN 'cpu' WHEN 13 THEN 'arch' ELSE 'runner'
        END AS by,
        coalesce(user_name, cpu, arch, runner) AS name,
        count(DISTINCT (user_name, host))::integer AS machines,
        sum(wins)::bigint AS wins, sum(losses)::bigint AS losses, sum(draws)::bigint AS draws,
        sum(crashes)::bigint AS crashes, sum(time_losses)::bigint AS time_losses,
        sum(p0)::bigint AS p0, sum(p1)::bigint AS p1, sum(p2)::bigint AS p2,
        sum(p3)::bigint AS p3, sum(p4)::bigint AS p4
    FROM played
    GROUP BY GROUPING SETS ((user_name), (cpu), (arch), (runner))
), placed AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY by ORDER BY wins + losses + draws DESC, name) AS place,
        count(*) OVER (PARTITION BY by)::integer AS all_groups,
        sum(wins + losses + draws) OVER (PARTITION BY by)::bigint AS all_games
    FROM grouped
)
SELECT * FROM placed WHERE place <= $2 ORDER BY by, place;

-- name: tasks_listed
-- A page of a run's tasks, searched and sorted, each row with the total number.
WITH named AS (
    SELECT
        *,
        concat(
            machine ->> 'username', '-', machine ->> 'concurrency', 'cores-',
            machine ->> 'unique_key'
        ) AS name,
        -- As model/machine.py has it.
        concat(
            machine ->> 'username', '-', machine ->> 'concurrency', 'cores-',
            array_to_string((string_to_array(machine ->> 'unique_key', '-'))[1:2], '-'),
            CASE WHEN (machine ->> 'modified')::boolean THEN '*' END
        ) AS long_name,
        CASE $4
            WHEN 'games' THEN wins + losses + draws
            WHEN 'reported' THEN extract(epoch FROM reported)
            WHEN 'crashes' THEN crashes
            WHEN 'time' THEN time_losses
            WHEN 'task' THEN id
        END::float8 AS rank
    FROM present_tasks
    WHERE run = $1
)
SELECT *, count(*) OVER ()::integer AS total
FROM named
WHERE strpos(lower(name), lower($2::text)) > 0
AND CASE $3
    WHEN 'playing' THEN active
    WHEN 'ended' THEN NOT active AND NOT bad AND NOT too_fast
    WHEN 'struck out' THEN bad AND NOT too_fast
    WHEN 'kept apart' THEN too_fast
    WHEN 'crashes' THEN crashes + time_losses > 0
    WHEN 'differing' THEN long_name = ANY ($8::text[])
    ELSE true
END
ORDER BY
    CASE WHEN $5 THEN -rank ELSE rank END,
    CASE WHEN $4 = 'machine' AND $5 THEN name END DESC,
    CASE WHEN $4 = 'machine' AND NOT $5 THEN name END,
    id
OFFSET $6 LIMIT $7;

-- name: bad_tasks_among
-- Those of these tasks whose results were struck out or kept apart, with their original results.
SELECT
    t.run, t.id, t.start, t.games, t.machine, t.created, t.reported, t.ticket, t.active,
    t.bad, t.too_fast, b.wins, b.losses, b.draws, b.crashes, b.time_losses,
    b.p0, b.p1, b.p2, b.p3, b.p4, b.residual, b.colour
FROM bad_tasks AS b JOIN present_tasks AS t ON t.run = b.run AND t.id = b.task
WHERE b.run = $1 AND b.task = ANY($2::integer[]);

-- name: tasks_played
-- The number of games of each machine in some runs.
SELECT
    t.run, machine ->> 'username' AS player,
    concat(machine ->> 'username', '-', machine ->> 'concurrency', 'cores-', split_part(machine ->> 'unique_key', '-', 1))
        AS machine,
    sum(t.wins + t.losses + t.draws)::bigint AS games
FROM tasks AS t
WHERE t.run = ANY($1::text[]) AND t.wins + t.losses + t.draws > 0
GROUP BY 1, 2, 3;

-- name: tasks_last_seen
-- The last signs of life of tasks of a run within a range of numbers.
SELECT id, seen FROM tasks
WHERE run = $1 AND id >= $2 AND id - $2 < $3::integer AND seen IS NOT NULL;

-- name: tasks_by_worker
-- The results of each worker process in a run, most games first.
SELECT
    machine ->> 'username' AS user_name, machine ->> 'unique_key' AS key,
    max((machine ->> 'concurrency')::integer) AS cores,
    bool_or((machine ->> 'modified')::boolean) AS modified,
    sum(wins)::bigint AS wins, sum(losses)::bigint AS losses, sum(draws)::bigint AS draws,
    sum(crashes)::bigint AS crashes, sum(time_losses)::bigint AS time_losses,
    sum(p0)::bigint AS p0, sum(p1)::bigint AS p1, sum(p2)::bigint AS p2,
    sum(p3)::bigint AS p3, sum(p4)::bigint AS p4
FROM tasks
WHERE run = $1 AND NOT bad
GROUP BY user_name, key
HAVING sum(wins + losses + draws) > 0
ORDER BY sum(wins + losses + draws) DESC, user_name, key
LIMIT $2;

-- name: bad_tasks_of_run
-- Tasks with their results before a purge, in the order of the purges.
SELECT
    t.run, t.id, t.start, t.games, t.machine, t.created, t.reported, t.ticket, t.active,
    false AS bad, t.too_fast, b.wins, b.losses, b.draws, b.crashes, b.time_losses,
    b.p0, b.p1, b.p2, b.p3, b.p4, b.residual, b.colour
FROM bad_tasks AS b JOIN present_tasks AS t ON t.run = b.run AND t.id = b.task
WHERE b.run = $1
ORDER BY b.position
OFFSET $2 LIMIT $3;

-- name: tasks_apart
-- Tasks of a run with the results that came faster than games can be played, latest first.
SELECT
    t.run, t.id, t.start, t.games, t.machine, t.created, t.reported, t.ticket, t.active,
    t.bad, t.too_fast, b.wins, b.losses, b.draws, b.crashes, b.time_losses,
    b.p0, b.p1, b.p2, b.p3, b.p4, b.residual, b.colour
FROM bad_tasks AS b JOIN present_tasks AS t ON t.run = b.run AND t.id = b.task
WHERE b.run = $1 AND t.too_fast
ORDER BY b.position DESC
LIMIT $2;

-- name: samples_of_run
-- The points of a run's charts.
SELECT * FROM samples WHERE run = $1 ORDER BY place;

-- name: samples_at
-- For each run its last chart point up to a time, or else its first; one index lookup each.
SELECT s.*
FROM unnest($1::text[]) AS r (id) CROSS JOIN LATERAL (
    (SELECT * FROM samples WHERE run = r.id AND at <= $2 ORDER BY place DESC LIMIT 1)
    UNION ALL
    (SELECT * FROM samples WHERE run = r.id ORDER BY place LIMIT 1)
    LIMIT 1
) AS s;

-- name: provenance_of_run
-- How the batches of a run were played.
SELECT run, task, at, games, runner, version, new_hash, base_hash, factor, latency_ms
FROM provenance
WHERE run = $1
ORDER BY id
OFFSET $2 LIMIT $3;

-- name: blocks_all
-- All blocks of machines.
SELECT short_name, message, at, actor FROM blocked_machines;

-- name: recalled_all
-- The histories of all machines.
SELECT short_name, seen, last FROM recalled_machines;

-- name: actions_note
-- Adds a log line about an account, a net, an engine or a team, which any process may write.
INSERT INTO actions (at, action, username, message, nn, subject, engine, team)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: actions_latest
-- Events of runs and tasks, newest first.
SELECT * FROM actions
WHERE action = ANY($1::text[]) AND at < coalesce($2, 'infinity'::timestamptz)
ORDER BY at DESC, id DESC
LIMIT $3;

-- name: actions_filtered
-- Log lines that match a filter, newest first; the code inserts its conditions.
SELECT * FROM actions
WHERE /* conditions */ true
ORDER BY at DESC, id DESC
LIMIT $1;

-- name: runs_exist
-- Whether there are any runs.
SELECT EXISTS (SELECT FROM runs);

-- name: actions_failures
-- Failures of tasks since a time, grouped by run and by message without numbers, with the workers
-- and tasks of the latest ones; the code inserts its conditions.
SELECT
    run_id, max(run) AS run_name, action,
    (array_agg(message ORDER BY at DESC, id DESC))[1] AS message,
    count(*)::integer AS count,
    count(DISTINCT substring(worker FROM '^[^-]*-[^-]*-[^-]*'))::integer AS machines,
    min(at) AS first, max(at) AS last,
    (array_agg(worker ORDER BY at DESC, id DESC))[1:5] AS workers,
    (array_agg(task_id ORDER BY at DESC, id DESC))[1:5] AS tasks
FROM actions
WHERE at >= $1 AND action = ANY($2::text[]) AND run_id IS NOT NULL AND task_id IS NOT NULL
    AND /* conditions */ true
GROUP BY run_id, action, regexp_replace(left(message, 300), '[0-9]+', '0', 'g')
ORDER BY last DESC, run_id, action
LIMIT $3 OFFSET $4;

-- name: done_commands_add
-- Stores commands that may be sent again.
INSERT INTO done_commands (key, run, body)
SELECT key, run, body
FROM pass, unnest($1::text::text[], $2::text::text[], $3::text::text[]) AS d (key, run, body)
ON CONFLICT (key) DO NOTHING;

-- name: done_commands_drop
-- Removes some commands that are too old to be repeated.
DELETE FROM done_commands USING pass
WHERE key IN (
    SELECT key FROM done_commands
    WHERE at < clock_timestamp() - interval '1 day' ORDER BY at LIMIT 10
);

-- name: done_commands_find
-- A command by its key, if it was carried out.
SELECT key, run, body FROM done_commands WHERE key = $1;

-- name: activity_put
-- Stores a part of the primary's memory for the other processes.
INSERT INTO fleet_activity (part, at, changed, body)
VALUES ($1, clock_timestamp(), clock_timestamp(), $2)
ON CONFLICT (part) DO UPDATE SET at = excluded.at, changed = excluded.changed, body = excluded.body;

-- name: activity_touch
-- Confirms a published part that has not changed.
UPDATE fleet_activity SET at = clock_timestamp() WHERE part = $1;

-- name: activity_read
-- What the primary published last: its age, and its body unless the caller has it already.
SELECT
    extract(epoch FROM clock_timestamp() - at)::float8 AS age, changed,
    CASE WHEN changed IS DISTINCT FROM $2::timestamptz THEN body END AS body
FROM fleet_activity
WHERE part = $1;
