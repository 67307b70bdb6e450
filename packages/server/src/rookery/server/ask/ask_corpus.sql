-- name: ask_cursor
-- The position of one cursor of the index.
SELECT number, mark FROM ask_cursors WHERE name = $1;

-- name: ask_cursor_move
-- Moves a cursor from the position where it was read; no row if another process has moved it since.
UPDATE ask_cursors SET number = $4, mark = $5
WHERE name = $1 AND number = $2 AND mark = $3
RETURNING 1;

-- name: ask_runs_changed
-- Runs that were changed after a given commit and run, in the order of commits.
SELECT * FROM (
    SELECT * FROM runs WHERE NOT finished AND (sequence, id) > ($1, $2::text)
    UNION ALL
    (
        SELECT * FROM runs
        WHERE settled >= $1 AND (settled, id) > ($1, $2::text)
        ORDER BY settled, id LIMIT $3
    )
) AS changed
ORDER BY sequence, id
LIMIT $3;

-- name: ask_actions_after
-- Log lines about runs, in order. Only the group commit writes such lines, one round after the
-- other, so none appears before one that was read already.
SELECT actions.*, runs.engines
FROM actions JOIN runs ON runs.id = actions.run_id
WHERE actions.id > $1 AND actions.action = ANY ($2::text[])
ORDER BY actions.id
LIMIT $3;

-- name: ask_changes_add
-- Notes documents that must be indexed again.
INSERT INTO ask_changes (key) SELECT DISTINCT unnest($1::text[])
ON CONFLICT (key) DO UPDATE SET number = DEFAULT;

-- name: ask_changes_next
-- Some of the documents that must be indexed again.
SELECT key, number FROM ask_changes ORDER BY number LIMIT $1;

-- name: ask_changes_done
-- Removes notes of indexed documents, unless they have changed since.
DELETE FROM ask_changes
USING unnest($1::text[], $2::bigint[]) AS done (key, number)
WHERE ask_changes.key = done.key AND ask_changes.number = done.number;

-- name: ask_lag
-- How far the index is behind: commits, log lines, and noted documents.
SELECT
    greatest(0, (SELECT sequence FROM commits) - (SELECT number FROM ask_cursors WHERE name = 'runs'))
        AS commits,
    (SELECT count(*) FROM ask_changes) AS documents;

-- name: ask_index_clear
-- Empties the index.
TRUNCATE ask_scopes, ask_documents, ask_passages, ask_postings, ask_frequencies, ask_changes;

-- name: ask_cursors_reset
-- Resets the cursors, so that everything they follow is indexed anew.
UPDATE ask_cursors SET number = 0, mark = '';

-- name: ask_changes_everything
-- Notes all documents without a cursor for indexing.
INSERT INTO ask_changes (key)
SELECT 'commit/' || engine || '/' || hash FROM ask_commits
UNION ALL
SELECT 'upload/' || id FROM ask_uploads;

-- name: ask_commits_of
-- The commits with these engines and hashes that are stored.
SELECT engine, hash, repository, author, at, message
FROM ask_commits
WHERE (engine, hash) IN (SELECT * FROM unnest($1::text[], $2::text[]));

-- name: ask_commits_add
-- Adds commits that are new to an engine; returns their hashes.
INSERT INTO ask_commits (engine, hash, repository, author, at, message)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[])
ON CONFLICT DO NOTHING
RETURNING hash;

-- name: ask_commits_remove
-- Removes some commits of an engine's repository; returns their hashes.
DELETE FROM ask_commits
WHERE (engine, hash) IN (
    SELECT engine, hash FROM ask_commits WHERE engine = $1 AND repository = $2 LIMIT $3
)
RETURNING hash;

-- name: ask_histories_all
-- All repositories whose commits are indexed, with the number of commits.
SELECT
    engine, repository, by_record, head, looked, problem,
    (
        SELECT count(*) FROM ask_commits AS c
        WHERE c.engine = h.engine AND c.repository = h.repository
    ) AS commits
FROM ask_histories AS h
ORDER BY engine, repository;

-- name: ask_histories_put
-- Stores the result of an update of a repository's history.
INSERT INTO ask_histories (engine, repository, by_record, head, looked, problem)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (engine, repository) DO UPDATE
SET by_record = excluded.by_record, head = excluded.head, looked = excluded.looked,
    problem = excluded.problem;

-- name: ask_histories_remove
-- Removes a repository whose commits are no longer indexed.
DELETE FROM ask_histories WHERE engine = $1 AND repository = $2;

-- name: ask_uploads_get
-- One upload by its id.
SELECT
    id, blob, size, user_name AS user, sha256, name, format, shared, created, problem,
    CASE
        WHEN state = 'read' AND NOT EXISTS (SELECT FROM ask_changes WHERE key = 'upload/' || id)
            THEN 'indexed'
        ELSE state
    END AS state
FROM ask_uploads WHERE id = $1;

-- name: ask_uploads_add
-- Adds an upload, or returns the one that the same user made of the same bytes before.
INSERT INTO ask_uploads (
    id, blob, size, user_name, sha256, name, format, shared, created, state, problem, text
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '')
ON CONFLICT (user_name, sha256) DO UPDATE SET name = ask_uploads.name
RETURNING
    id, blob, size, user_name AS user, sha256, name, format, shared, created, state, problem;

-- name: ask_uploads_seen_by
-- A page of the uploads that a user may see, newest first.
SELECT
    id, blob, size, user_name AS user, sha256, name, format, shared, created, problem,
    CASE
        WHEN state = 'read' AND NOT EXISTS (SELECT FROM ask_changes WHERE key = 'upload/' || id)
            THEN 'indexed'
        ELSE state
    END AS state
FROM ask_uploads WHERE shared OR user_name = $1
ORDER BY created DESC, id
LIMIT $2 OFFSET $3;

-- name: ask_uploads_next
-- The next upload of each user that has not been read yet: texts before PDFs, then by arrival.
SELECT
    id, blob, size, user_name AS user, sha256, name, format, shared, created, problem, state
FROM (
    SELECT DISTINCT ON (user_name) *
    FROM ask_uploads WHERE state = 'waiting'
    ORDER BY user_name, format = 'pdf', created, id
) AS next
ORDER BY format = 'pdf', created, id;

-- name: ask_uploads_waiting
-- How many uploads of a user have not been read yet.
SELECT count(*) FROM ask_uploads WHERE user_name = $1 AND state = 'waiting';

-- name: ask_uploads_text
-- The text that was read from one upload.
SELECT text FROM ask_uploads WHERE id = $1;

-- name: ask_uploads_settle
-- Stores the result of reading an upload.
UPDATE ask_uploads SET state = $2, problem = $3, text = $4 WHERE id = $1;

-- name: ask_uploads_share
-- Makes an upload visible to everybody, or to its uploader only.
UPDATE ask_uploads SET shared = $2 WHERE id = $1;

-- name: ask_uploads_texts
-- The texts that were read from these uploads.
SELECT id, name, user_name AS user, created, shared, text
FROM ask_uploads WHERE id = ANY ($1::text[]) AND state = 'read';

-- name: ask_uploads_forget
-- Removes the uploads stored in these blobs; returns their ids.
DELETE FROM ask_uploads WHERE blob = ANY ($1::text[]) RETURNING id;

-- name: ask_uploads_known
-- Those of the blobs that contain an upload.
SELECT blob FROM ask_uploads WHERE blob = ANY ($1::text[]);

-- name: ask_uploads_blobs
-- A page of the blobs that contain uploads, in order, with what they should be.
SELECT blob AS key, size, sha256 AS digest FROM ask_uploads WHERE blob > $1 ORDER BY blob LIMIT $2;
