-- name: uploads_hold
-- Locks a user's row, so that uploads of one user are counted one after the other.
SELECT 1 FROM users WHERE name = $1 FOR NO KEY UPDATE;

-- name: uploads_of
-- The bytes that a user has stored, and the user's limit, given the site's.
SELECT
    coalesce((SELECT upload_mb * 1000000::bigint FROM users WHERE name = $1), $2) AS allowed,
    (
        (SELECT coalesce(sum(size), 0) FROM nets WHERE user_name = $1)
        + (SELECT coalesce(sum(size), 0) FROM binaries WHERE user_name = $1)
        + (SELECT coalesce(sum(size), 0) FROM books WHERE user_name = $1)
        + (SELECT coalesce(sum(size), 0) FROM repeated_uploads WHERE user_name = $1)
        + (SELECT coalesce(sum(size), 0) FROM ask_uploads WHERE user_name = $1)
    )::bigint AS used;

-- name: uploads_by_user
-- The bytes that each user has stored.
SELECT user_name, sum(size)::bigint AS used
FROM (
    SELECT user_name, size FROM nets
    UNION ALL SELECT user_name, size FROM binaries
    UNION ALL SELECT user_name, size FROM books
    UNION ALL SELECT user_name, size FROM repeated_uploads
    UNION ALL SELECT user_name, size FROM ask_uploads
) AS kept
GROUP BY user_name;
