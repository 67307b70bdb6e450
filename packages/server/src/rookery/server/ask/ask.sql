-- name: ask_lock
-- Admits one writer of the index at a time; readers are not blocked.
LOCK TABLE ask_scopes IN SHARE ROW EXCLUSIVE MODE;

-- name: ask_documents_stale
-- The ids of documents to remove: those with the keys in $2, and those whose text or scope in $1
-- has changed.
SELECT id FROM ask_documents WHERE key = ANY ($2::text[])
UNION
SELECT ask_documents.id
FROM jsonb_to_recordset($1::jsonb) AS new (key text, digest text) JOIN ask_documents USING (key)
WHERE ask_documents.digest <> decode(new.digest, 'hex');

-- name: ask_postings_remove
-- Removes the postings of these documents' passages.
DELETE FROM ask_postings
USING (
    SELECT id, unnest(terms) AS term FROM ask_passages WHERE document = ANY ($1::integer[])
) AS gone
WHERE ask_postings.term = gone.term AND ask_postings.passage = gone.id;

-- name: ask_frequencies_lower
-- Subtracts the terms of these documents' passages from the frequencies.
UPDATE ask_frequencies
SET passages = ask_frequencies.passages - gone.passages
FROM (
    SELECT scope, term, count(*) AS passages
    FROM ask_documents
    JOIN ask_passages ON ask_passages.document = ask_documents.id, unnest(terms) AS term
    WHERE ask_documents.id = ANY ($1::integer[])
    GROUP BY scope, term
) AS gone
WHERE ask_frequencies.term = gone.term AND ask_frequencies.scope = gone.scope;

-- name: ask_scopes_lower
-- Subtracts these documents' passages from the sums of their scopes.
UPDATE ask_scopes
SET passages = ask_scopes.passages - gone.passages, length = ask_scopes.length - gone.length
FROM (
    SELECT scope, count(*) AS passages, sum(length) AS length
    FROM ask_documents JOIN ask_passages ON ask_passages.document = ask_documents.id
    WHERE ask_documents.id = ANY ($1::integer[])
    GROUP BY scope
) AS gone
WHERE ask_scopes.id = gone.scope;

-- name: ask_frequencies_tidy
-- Removes frequencies of these documents' terms that are zero now; to be run before the documents
-- are removed.
DELETE FROM ask_frequencies
USING (
    SELECT DISTINCT scope, term
    FROM ask_documents
    JOIN ask_passages ON ask_passages.document = ask_documents.id, unnest(terms) AS term
    WHERE ask_documents.id = ANY ($1::integer[])
) AS gone
WHERE ask_frequencies.term = gone.term AND ask_frequencies.scope = gone.scope
    AND ask_frequencies.passages = 0;

-- name: ask_documents_remove
-- Removes documents with their passages.
DELETE FROM ask_documents WHERE id = ANY ($1::integer[]);

-- name: ask_scopes_tidy
-- Removes scopes that have no passage left.
DELETE FROM ask_scopes WHERE passages = 0;

-- name: ask_scopes_add
-- Adds the scopes of new documents that do not exist yet.
INSERT INTO ask_scopes (kind, engine, engines, owner)
SELECT DISTINCT kind, engine, engines, owner
FROM jsonb_to_recordset($1::jsonb) AS new (kind text, engine text, engines text[], owner text)
ON CONFLICT DO NOTHING;

-- name: ask_documents_change
-- Updates the fields of indexed documents whose text and scope have not changed.
UPDATE ask_documents
SET url = new.url, user_name = new."user", at = new.time, tc = new.tc,
    time_class = new.time_class, outcome = new.outcome, elo = new.elo,
    commit_hash = new.commit, statistics = new.statistics, links = new.links
FROM jsonb_to_recordset($1::jsonb) AS new (
    key text, url text, "user" text, time timestamptz, tc text, time_class text, outcome text,
    elo text, commit text, statistics text[], links text[]
)
WHERE ask_documents.key = new.key;

-- name: ask_documents_add
-- Adds documents that are not indexed yet; returns their ids.
INSERT INTO ask_documents (
    key, scope, digest, title, url, user_name, at, tc, time_class, outcome, elo, commit_hash,
    statistics, links
)
SELECT
    new.key, ask_scopes.id, decode(new.digest, 'hex'), new.title, new.url, new."user", new.time,
    new.tc, new.time_class, new.outcome, new.elo, new.commit, new.statistics, new.links
FROM jsonb_to_recordset($1::jsonb) AS new (
    key text, kind text, engine text, engines text[], owner text, digest text, title text,
    url text, "user" text, time timestamptz, tc text, time_class text, outcome text, elo text,
    commit text, statistics text[], links text[]
)
JOIN ask_scopes USING (kind, engine, engines, owner)
ON CONFLICT (key) DO NOTHING
RETURNING id;

-- name: ask_passages_add
-- Adds the passages in $1 that belong to the new documents in $2.
INSERT INTO ask_passages (document, place, text, length, terms, counts)
SELECT ask_documents.id, place, text, length, terms, counts
FROM jsonb_to_recordset($1::jsonb) AS new (
    key text, place integer, text text, length integer, terms text[], counts smallint[]
)
JOIN ask_documents USING (key)
WHERE ask_documents.id = ANY ($2::integer[]);

-- name: ask_postings_add
-- Adds the postings of new documents' passages.
INSERT INTO ask_postings (term, passage, count, length, scope)
SELECT term, ask_passages.id, count, length, scope
FROM ask_documents
JOIN ask_passages ON ask_passages.document = ask_documents.id,
    unnest(terms, counts) AS posting (term, count)
WHERE ask_documents.id = ANY ($1::integer[])
ORDER BY term COLLATE "C", ask_passages.id;

-- name: ask_frequencies_raise
-- Adds the terms of new documents' passages to the frequencies.
INSERT INTO ask_frequencies (term, scope, passages)
SELECT term, scope, count(*)
FROM ask_documents
JOIN ask_passages ON ask_passages.document = ask_documents.id, unnest(terms) AS term
WHERE ask_documents.id = ANY ($1::integer[])
GROUP BY scope, term
ON CONFLICT (term, scope)
DO UPDATE SET passages = ask_frequencies.passages + excluded.passages;

-- name: ask_scopes_raise
-- Adds new documents' passages to the sums of their scopes.
UPDATE ask_scopes
SET passages = ask_scopes.passages + new.passages, length = ask_scopes.length + new.length
FROM (
    SELECT scope, count(*) AS passages, sum(length) AS length
    FROM ask_documents JOIN ask_passages ON ask_passages.document = ask_documents.id
    WHERE ask_documents.id = ANY ($1::integer[])
    GROUP BY scope
) AS new
WHERE ask_scopes.id = new.scope;

-- name: ask_keys
-- The keys of indexed documents with a prefix, in order, after a given key.
SELECT key FROM ask_documents
WHERE starts_with(key, $1) AND key > $2
ORDER BY key
LIMIT $3;

-- name: ask_size
-- The numbers of indexed documents and passages.
SELECT
    (SELECT count(*) FROM ask_documents) AS documents,
    (SELECT coalesce(sum(passages), 0)::bigint FROM ask_scopes) AS passages;

-- name: ask_search
-- The best passages for weighted terms by BM25, among those that the asker may see and has asked
-- for. Terms with one concept are alternatives, of which the best counts. The score decreases with
-- the share of missing concepts, to the power of $4; words of the question count once more, times
-- $5. $1 terms, $2 their concepts, $3 their weights (1: a word of the question), $6 share of
-- passages above which a term is common, $7 engines that are hidden from the asker, $8 the asker,
-- $9 kinds, $10 engine, $11 user, $12 since, $13 until, $14 time class, $15 outcome, $16 limit, $17
-- whether 11 to 15 restrict anything. OFFSET 0 keeps subqueries separate, so that each term is
-- looked up in the index even with outdated planner statistics.
WITH visible AS MATERIALIZED (
    SELECT
        id, passages, length,
        ($9::text[] = '{}' OR kind = ANY ($9)) AND $10::text IN ('', engine) AS wanted
    FROM ask_scopes
    WHERE NOT engines && $7::text[] AND owner IN ('', $8::text)
),
whole AS MATERIALIZED (
    SELECT
        sum(passages)::float8 AS passages,
        -- k1 (1 - b) and k1 b / the average length, as float8: numeric is slow
        0.3::float8 AS flat, 0.9::float8 * sum(passages)::float8 / sum(length)::float8 AS steep
    FROM visible
    HAVING sum(length) > 0
),
frequent AS MATERIALIZED (
    SELECT term, sum(f.passages)::float8 AS passages
    FROM (SELECT DISTINCT unnest($1::text[]) AS term) AS a
    CROSS JOIN LATERAL (
        SELECT scope, passages FROM ask_frequencies WHERE ask_frequencies.term = a.term OFFSET 0
    ) AS f
    JOIN visible ON visible.id = f.scope
    GROUP BY term
),
rated AS MATERIALIZED (
    SELECT
        term, concept, weight, frequent.passages <= $6::float8 * whole.passages AS rare,
        weight * ln(1 + (whole.passages - frequent.passages + 0.5) / (frequent.passages + 0.5))
            AS worth
    FROM whole, unnest($1::text[], $2::integer[], $3::float8[]) AS a (term, concept, weight)
    JOIN frequent USING (term)
),
used AS MATERIALIZED (
    SELECT term, concept, weight, worth
    FROM rated
    WHERE rare OR weight = 1 AND NOT EXISTS (SELECT FROM rated WHERE rare AND weight = 1)
),
found AS MATERIALIZED (
    SELECT passage, concept, max(score) AS best, max(score) FILTER (WHERE weight = 1) AS literal
    FROM
        whole, used
        CROSS JOIN LATERAL (
            SELECT passage, count, length, scope FROM ask_postings
            WHERE ask_postings.term = used.term OFFSET 0
        ) AS p
        CROSS JOIN LATERAL (SELECT worth * count / (count + flat + steep * p.length) AS score) AS one
    WHERE p.scope = ANY (ARRAY(SELECT id FROM visible WHERE wanted))
    GROUP BY passage, concept
),
scored AS MATERIALIZED (
    SELECT
        passage,
        -- float4, because the last digits of a sum depend on the order in which it was made
        (sum(best) * power(
            count(*)::float8 / (SELECT count(DISTINCT concept) FROM used), $4::float8
        ) + $5::float8 * coalesce(sum(literal), 0))::float4 AS score
    FROM found
    GROUP BY passage
),
kept AS (
    SELECT passage, score
    FROM scored
    WHERE NOT $17::boolean OR EXISTS (
        SELECT FROM ask_passages JOIN ask_documents ON ask_documents.id = ask_passages.document
        WHERE ask_passages.id = scored.passage
            AND ($11::text = '' OR user_name = $11)
            AND ($12::timestamptz IS NULL OR at >= $12)
            AND ($13::timestamptz IS NULL OR at < $13)
            AND ($14::text = '' OR time_class = $14)
            AND ($15::text = '' OR outcome = $15)
    )
    ORDER BY score DESC
    FETCH FIRST ($16::integer) ROWS WITH TIES
)
SELECT
    key, place, kind, title, text, url, round(score::float8::numeric, 6)::float8 AS score, engine,
    user_name AS "user", at AS time, tc,
    outcome, elo, commit_hash AS commit, statistics, links
FROM kept
JOIN ask_passages ON ask_passages.id = kept.passage
JOIN ask_documents ON ask_documents.id = ask_passages.document
JOIN ask_scopes ON ask_scopes.id = ask_documents.scope
ORDER BY kept.score DESC, key, place
LIMIT $16::integer;

-- name: ask_frequencies_of
-- The number of passages visible to the asker that contain each of the terms, rarest first. $1
-- terms, $2 engines that are hidden from the asker, $3 the asker.
SELECT term
FROM ask_frequencies AS f JOIN ask_scopes ON ask_scopes.id = f.scope
WHERE term = ANY ($1::text[]) AND NOT engines && $2::text[] AND owner IN ('', $3::text)
GROUP BY term
ORDER BY sum(f.passages), term;
