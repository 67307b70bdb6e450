-- name: users_by_name
-- One user by the exact name.
SELECT name, email, password_hash, groups, blocked, pending, machine_limit, created,
    upload_mb, block_reason, verified_email, repositories
FROM users
WHERE name = $1;

-- name: users_add
-- Adds a user; returns nothing if the name is taken.
INSERT INTO users (name, email, password_hash, groups, blocked, pending, machine_limit, created,
    upload_mb, block_reason, verified_email, repositories)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (name) DO NOTHING
RETURNING name;

-- name: users_lock
-- Locks a user's row against changes until the transaction ends; other rows may still refer to it.
SELECT name, email, password_hash, groups, blocked, pending, machine_limit, created,
    upload_mb, block_reason, verified_email, repositories
FROM users
WHERE name = $1
FOR NO KEY UPDATE;

-- name: users_save
-- Replaces everything about a user except the name.
UPDATE users
SET email = $2, password_hash = $3, groups = $4, blocked = $5, pending = $6, machine_limit = $7,
    created = $8, upload_mb = $9, block_reason = $10, verified_email = $11,
    repositories = $12
WHERE name = $1
RETURNING name;

-- name: users_count
-- How many users there are.
SELECT count(*) FROM users;

-- name: users_count_pending
-- How many accounts wait for approval.
SELECT count(*) FROM users WHERE pending AND NOT blocked;

-- name: users_changed
-- Notifies every process to forget what it has cached of a user.
SELECT pg_notify('users', $1);

-- name: users_by_names
-- Several users by their exact names.
SELECT name, email, password_hash, groups, blocked, pending, machine_limit, created,
    upload_mb, block_reason, verified_email, repositories
FROM users
WHERE name = ANY($1::text[]);

-- name: users_all
-- All users, by name.
SELECT name, email, password_hash, groups, blocked, pending, machine_limit, created,
    upload_mb, block_reason, verified_email, repositories
FROM users
ORDER BY name;

-- name: users_page
-- A page of users of a kind whose name contains a text, or for approvers whose address does;
-- pending ones first, then by name.
SELECT name, email, password_hash, groups, blocked, pending, machine_limit, created,
    upload_mb, block_reason, verified_email, repositories
FROM users
WHERE (position(lower($1) IN lower(name)) > 0 OR $2 AND position(lower($1) IN lower(email)) > 0)
    AND ($2 OR NOT pending)
    AND CASE $3
        WHEN 'pending' THEN pending
        WHEN 'blocked' THEN $2 AND blocked
        WHEN 'approvers' THEN $6 = ANY (groups)
        ELSE true
    END
ORDER BY pending DESC, lower(name), name
LIMIT $4 OFFSET $5;

-- name: users_remove
-- Removes a user with their tokens and memberships in teams.
DELETE FROM users WHERE name = $1;

-- name: sessions_end
-- Stores an ended session.
INSERT INTO ended_sessions (digest, until) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING;

-- name: sessions_forget
-- Removes ended sessions whose cookies have expired.
DELETE FROM ended_sessions WHERE until < $1;

-- name: sessions_ended
-- All sessions that were ended by a logout.
SELECT digest FROM ended_sessions;

-- name: sessions_changed
-- Notifies every process that a session has ended.
SELECT pg_notify('sessions', $1);
