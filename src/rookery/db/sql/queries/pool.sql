-- name: alive
-- Whether the database answers at all.
SELECT 1;
