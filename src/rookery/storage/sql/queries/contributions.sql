-- name: contributions_of_user
-- Games that a user's machines have played, by run; those that were struck out do not count.
SELECT run, sum(wins + losses + draws)::bigint AS games
FROM tasks
WHERE machine ->> 'user' = $1 AND NOT bad
GROUP BY run
HAVING sum(wins + losses + draws) > 0
ORDER BY games DESC
LIMIT 1000;
