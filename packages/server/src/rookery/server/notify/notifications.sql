-- name: outbox_put
-- Adds a notification, if there is any channel.
INSERT INTO outbox (at, kind, actor, run, title, message, subject)
SELECT $1, $2, $3, $4, $5, $6, $7
WHERE EXISTS (SELECT FROM channels);

-- name: notifications_add
-- Adds the notifications of a round in order, if there is any channel.
INSERT INTO outbox (at, kind, actor, run, title, message, subject)
SELECT at, kind, actor, run, title, message, subject
FROM pass, unnest(
    $1::text::timestamptz[], $2::text::text[], $3::text::text[], $4::text::text[],
    $5::text::text[], $6::text::text[], $7::text::text[]
) WITH ORDINALITY AS n (at, kind, actor, run, title, message, subject, place)
WHERE EXISTS (SELECT FROM channels)
ORDER BY place;

-- name: outbox_spread
-- Creates a delivery of each new notification for each channel that wants it: those of approvers,
-- or of the run's followers. The person who caused it gets none.
WITH fresh AS (
    SELECT id, kind, actor, run FROM outbox
    WHERE NOT spread
    ORDER BY id
    LIMIT $1
    FOR UPDATE
),
made AS (
    INSERT INTO deliveries (notification, channel, state)
    SELECT fresh.id, channels.id, 'waiting'
    FROM fresh
    JOIN channels ON fresh.kind = ANY (channels.kinds) AND channels.active
    JOIN users ON users.name = channels.user_name AND NOT users.blocked AND NOT users.pending
    LEFT JOIN runs ON runs.id = fresh.run
    LEFT JOIN subscriptions AS s ON s.run = fresh.run AND s.user_name = channels.user_name
    WHERE channels.user_name <> fresh.actor
        AND CASE
            WHEN fresh.kind = ANY ($2::text[]) THEN $3 = ANY (users.groups)
            ELSE coalesce(s.following, runs.owner = channels.user_name)
        END
    ON CONFLICT (notification, channel) DO NOTHING
)
UPDATE outbox SET spread = true FROM fresh WHERE outbox.id = fresh.id RETURNING outbox.id;

-- name: deliveries_due
-- Deliveries for channels that may be tried now, oldest of each channel first.
SELECT
    d.id AS delivery, o.at, o.kind, o.actor, o.run, o.title, o.message, o.subject,
    c.id, c.user_name, c.form, c.address, c.secret, c.failures, c.kinds, c.active,
    c.created, c.next_at, users.email, users.verified_email, coalesce(runs.engines, '{}') AS engines
FROM (
    SELECT id FROM channels
    WHERE next_at <= $1
        AND EXISTS (
            SELECT FROM deliveries WHERE channel = channels.id AND state = 'waiting'
        )
    ORDER BY next_at
    LIMIT $2
) AS ready
JOIN channels AS c ON c.id = ready.id
JOIN users ON users.name = c.user_name
JOIN LATERAL (
    SELECT id, notification FROM deliveries
    WHERE channel = c.id AND state = 'waiting'
    ORDER BY id
    LIMIT $3
) AS d ON true
JOIN outbox AS o ON o.id = d.notification
LEFT JOIN runs ON runs.id = o.run
ORDER BY c.id, d.id;

-- name: deliveries_end
-- Stores the outcome of deliveries that need no further attempt.
UPDATE deliveries SET state = $2, error = $3, ended = $4, attempts = attempts + 1
WHERE id = ANY ($1::bigint[]);

-- name: deliveries_retry
-- Notes why deliveries failed that are tried again later.
UPDATE deliveries SET error = $2, attempts = attempts + 1 WHERE id = ANY ($1::bigint[]);

-- name: channels_pause
-- Sets when a channel is tried next, and how often it has failed since its last success.
UPDATE channels SET next_at = $2, failures = $3 WHERE id = $1;

-- name: outbox_forget
-- Removes old notifications with their deliveries.
DELETE FROM outbox
WHERE id IN (
    SELECT id FROM outbox WHERE at < $1 AND spread ORDER BY at LIMIT 1000
);

-- name: deliveries_page
-- The log of deliveries, latest first: of one user, or of everybody for an empty name.
SELECT
    d.id, o.at, o.kind, o.actor, o.run, o.title, o.message, o.subject, c.form, c.address, c.user_name,
    d.state, d.attempts, d.error, d.ended, c.next_at, coalesce(runs.engines, '{}') AS engines
FROM deliveries AS d
JOIN outbox AS o ON o.id = d.notification
JOIN channels AS c ON c.id = d.channel
LEFT JOIN runs ON runs.id = o.run
WHERE $1 = '' OR c.user_name = $1
ORDER BY d.id DESC
LIMIT $2 OFFSET $3;

-- name: channels_of_user
-- The channels of a user, mail first.
SELECT
    id, user_name, form, address, secret, kinds, active, created, failures, next_at
FROM channels
WHERE user_name = $1
ORDER BY form <> 'mail', id;

-- name: channels_add
-- Adds a channel; a mail channel replaces the previous one.
INSERT INTO channels (user_name, form, address, secret, kinds, active, created, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
ON CONFLICT (user_name) WHERE form = 'mail' DO UPDATE SET
    kinds = excluded.kinds, active = excluded.active, failures = 0, next_at = excluded.next_at
RETURNING id;

-- name: channels_change
-- Changes which notifications a user's channel gets, and whether it is on.
UPDATE channels SET kinds = $3, active = $4, failures = 0, next_at = $5
WHERE id = $1 AND user_name = $2
RETURNING id;

-- name: channels_remove
-- Removes a channel of a user, with the log of its deliveries.
DELETE FROM channels WHERE id = $1 AND user_name = $2 RETURNING id;

-- name: channels_silence_mail
-- Switches a user's mail off.
UPDATE channels SET active = false WHERE user_name = $1 AND form = 'mail' RETURNING id;

-- name: subscriptions_put
-- Stores whether a user follows a run.
INSERT INTO subscriptions (run, user_name, following) VALUES ($1, $2, $3)
ON CONFLICT (run, user_name) DO UPDATE SET following = excluded.following;

-- name: subscriptions_of
-- Whether a user follows a run; owners do unless they opted out.
SELECT coalesce(s.following, runs.owner = $2)
FROM runs LEFT JOIN subscriptions AS s ON s.run = runs.id AND s.user_name = $2
WHERE runs.id = $1;

-- name: letters_put
-- Adds a request for mail; one that already waits becomes due at once.
INSERT INTO letters (purpose, user_name, asked, next_at) VALUES ($1, $2, $3, $3)
ON CONFLICT (purpose, user_name) DO UPDATE SET
    asked = excluded.asked, attempts = 0, error = '', next_at = excluded.next_at;

-- name: letters_due
-- Mail that may be sent now, longest due first.
SELECT purpose, user_name, asked, attempts FROM letters
WHERE next_at <= $1
ORDER BY next_at
LIMIT $2;

-- name: letters_end
-- Removes a request for mail, unless it was repeated since.
DELETE FROM letters WHERE purpose = $1 AND user_name = $2 AND asked = $3;

-- name: letters_retry
-- Sets when refused mail is tried again.
UPDATE letters SET attempts = attempts + 1, error = $4, next_at = $5
WHERE purpose = $1 AND user_name = $2 AND asked = $3;

-- name: subscriptions_of_user
-- The runs that a user follows: unfinished ones, and those that changed since a time.
SELECT runs.id
FROM runs LEFT JOIN subscriptions AS s ON s.run = runs.id AND s.user_name = $1
WHERE NOT runs.deleted
    AND (NOT runs.finished OR runs.updated >= $2)
    AND coalesce(s.following, runs.owner = $1)
ORDER BY runs.id DESC
LIMIT $3;
