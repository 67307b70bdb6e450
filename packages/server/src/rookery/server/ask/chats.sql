-- name: chats_of
-- The conversations of a user, last used first.
SELECT
    id, title, created, touched, archived, temporary,
    (SELECT count(*) FROM chat_messages WHERE session = chat_sessions.id) AS messages
FROM chat_sessions
WHERE user_name = $1 AND (archived = $2 OR $2 IS NULL)
ORDER BY touched DESC, id
LIMIT 1000;

-- name: chats_get
-- One conversation, if it belongs to this user.
SELECT
    id, title, created, touched, archived, temporary,
    (SELECT count(*) FROM chat_messages WHERE session = chat_sessions.id) AS messages
FROM chat_sessions
WHERE id = $1 AND user_name = $2;

-- name: chats_make_room
-- Removes the least recently used temporary conversations of a user, as many as needed to make
-- room.
DELETE FROM chat_sessions
WHERE id IN (
    SELECT id FROM chat_sessions
    WHERE user_name = $1 AND temporary
    ORDER BY touched, id
    LIMIT greatest(0, (SELECT count(*) FROM chat_sessions WHERE user_name = $1) - $2 + 1)
);

-- name: chats_add
-- Adds a conversation; returns nothing if the user has as many as allowed.
INSERT INTO chat_sessions (id, user_name, title, created, touched, archived, temporary)
SELECT $1, name, $3, $4, $4, false, $5 FROM users
WHERE name = $2 AND (SELECT count(*) FROM chat_sessions WHERE user_name = $2) < $6
RETURNING id;

-- name: chats_change
-- Changes the title or archives a conversation, where not null; a title makes it permanent.
UPDATE chat_sessions SET
    title = coalesce($3, title),
    archived = coalesce($4, archived),
    temporary = temporary AND $3::text IS NULL
WHERE id = $1 AND user_name = $2
RETURNING id;

-- name: chats_touch
-- Notes that a conversation is used.
UPDATE chat_sessions SET touched = greatest(touched, $3) WHERE id = $1 AND user_name = $2
RETURNING id;

-- name: chats_remove
-- Removes a conversation with its messages, if it belongs to this user.
DELETE FROM chat_sessions WHERE id = $1 AND user_name = $2 RETURNING id;

-- name: chats_sweep
-- Removes conversations that were not used since the given times: temporary ones, and permanent
-- ones if their time is not null.
DELETE FROM chat_sessions
WHERE id IN (
    SELECT id FROM chat_sessions
    WHERE (temporary AND touched < $1) OR (NOT temporary AND touched < $2)
    LIMIT $3
)
RETURNING id;

-- name: chat_messages_of
-- The last messages of a conversation, oldest first.
SELECT role, text, at, sources FROM (
    SELECT number, role, text, at, sources::text AS sources FROM chat_messages
    WHERE session = $1
    ORDER BY number DESC
    LIMIT $2
) AS last
ORDER BY number;

-- name: chat_messages_add
-- Adds messages to a conversation; beyond a number, the oldest are removed.
WITH last AS (
    SELECT coalesce(max(number), 0) AS number FROM chat_messages WHERE session = $1
), trimmed AS (
    DELETE FROM chat_messages
    WHERE session = $1 AND number <= (SELECT number FROM last) + cardinality($2::text[]) - $6
)
INSERT INTO chat_messages (session, number, role, text, at, sources)
SELECT $1, last.number + said.place, said.role, said.text, said.at, said.sources::jsonb
FROM last, unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[])
    WITH ORDINALITY AS said (role, text, at, sources, place);

-- name: chat_messages_clear
-- Removes all messages of a conversation.
DELETE FROM chat_messages WHERE session = $1;

-- name: model_uses_count
-- Counts one question of a user on a day; returns nothing if the quota is used up.
INSERT INTO model_uses (user_name, day, questions)
SELECT name, $2, 1 FROM users WHERE name = $1
ON CONFLICT (user_name, day) DO UPDATE SET questions = model_uses.questions + 1
WHERE model_uses.questions < $3
RETURNING questions;

-- name: model_uses_sweep
-- Removes the counts of days before a given one.
DELETE FROM model_uses WHERE day < $1;
