-- name: farm_figures
-- All counts for monitoring in one row; each part uses an index or a small table.
SELECT
    (SELECT count(*) FROM runs WHERE listed IS NOT NULL) AS finished_runs,
    (SELECT coalesce(sum(games), 0)::bigint FROM user_statistics WHERE period = 'all')
        AS credited_games,
    (SELECT count(*) FROM users WHERE pending AND NOT blocked) AS pending_accounts,
    (
        SELECT count(*) FROM actions
        WHERE action = 'failed_task' AND at > now() - interval '1 hour'
    ) AS failed_tasks,
    (
        SELECT count(*) FROM actions
        WHERE action = 'dead_task' AND at > now() - interval '1 hour'
    ) AS dead_tasks,
    (
        SELECT count(*) FROM actions
        WHERE action = 'crash_or_time' AND at > now() - interval '1 hour'
    ) AS crashed_tasks,
    (
        SELECT count(*) FROM actions
        WHERE action = 'stop_run' AND at > now() - interval '1 hour'
    ) AS stopped_runs,
    waiting.undelivered,
    waiting.undelivered_seconds,
    (
        SELECT count(*) FROM outbox
        JOIN deliveries ON deliveries.notification = outbox.id
        WHERE outbox.at > now() - interval '1 day' AND deliveries.state = 'failed'
    ) AS given_up,
    (
        SELECT extract(epoch FROM now() - made)::float8 FROM findings
        WHERE kind = 'backup' AND about = ''
    ) AS backup_seconds
FROM (
    SELECT
        count(*) AS undelivered,
        coalesce(extract(epoch FROM now() - min(at)), 0)::float8 AS undelivered_seconds
    FROM (
        SELECT at FROM outbox WHERE NOT spread
        UNION ALL
        SELECT outbox.at FROM deliveries
        JOIN outbox ON outbox.id = deliveries.notification
        WHERE deliveries.state = 'waiting'
    ) AS told_later
) AS waiting;
