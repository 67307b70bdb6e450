-- name: ask_lock
-- Lets one writer of the index at a time pass; readers are not held up.
LOCK TABLE ask_scopes IN SHARE ROW EXCLUSIVE MODE;

-- name: ask_documents_known
-- Those of the documents that are indexed, with the digest of what was indexed.
SELECT id, key, digest FROM ask_documents WHERE key = ANY ($1::text[]);

-- name: ask_postings_remove
-- Forgets which terms stand in the passages of these documents.
DELETE FROM ask_postings
USING (
    SELECT id, unnest(terms) AS term FROM ask_passages WHERE document = ANY ($1::integer[])
) AS gone
WHERE ask_postings.term = gone.term AND ask_postings.passage = gone.id;

-- name: ask_frequencies_lower
-- Takes the terms of these documents' passages out of the frequencies.
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
-- Takes these documents' passages out of the sums of their scopes.
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
-- Removes what these documents' terms have left at nothing; before the documents go themselves.
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
-- Makes the scopes of new documents, as far as there are none yet.
INSERT INTO ask_scopes (kind, engine, engines, owner)
SELECT DISTINCT kind, engine, engines, owner
FROM jsonb_to_recordset($1::jsonb) AS new (kind text, engine text, engines text[], owner text)
ON CONFLICT DO NOTHING;

-- name: ask_documents_change
-- Writes the fields of documents whose text and scope are as they were.
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
-- New documents; the numbers of document and scope by key.
INSERT INTO ask_documents (
    key, scope, digest, title, url, user_name, at, tc, time_class, outcome, elo, commit_hash,
    statistics, links
)
SELECT
    new.key, ask_scopes.id, decode(new.digest, 'hex'), new.title, new.url, new."user", new.time,
    new.tc, new.time_class, new.outcome, new.elo, new.commit, new.statistics, new.links
FROM jsonb_to_recordset($1::jsonb) AS new (
    key text, kind text, engine text, engines text[], owner text, digest text, title text,
    url text, "user" text, time timestamptz, tc text, time_class text, outcome text, elo text, commit text,
    statistics text[], links text[]
)
JOIN ask_scopes USING (kind, engine, engines, owner)
RETURNING key, id, scope;

-- name: ask_passages_add
-- New passages; their numbers by document and place.
INSERT INTO ask_passages (document, place, text, length, terms)
SELECT document, place, text, length, terms
FROM jsonb_to_recordset($1::jsonb) AS new (
    document integer, place integer, text text, length integer, terms text[]
)
RETURNING document, place, id;

-- name: ask_postings_add
-- Which terms stand in new passages.
INSERT INTO ask_postings (term, passage, count, length, scope)
SELECT * FROM unnest($1::text[], $2::integer[], $3::smallint[], $4::integer[], $5::integer[]);

-- name: ask_frequencies_raise
-- Adds the terms of new passages to the frequencies.
INSERT INTO ask_frequencies (term, scope, passages)
SELECT * FROM unnest($1::text[], $2::integer[], $3::integer[])
ON CONFLICT (term, scope)
DO UPDATE SET passages = ask_frequencies.passages + excluded.passages;

-- name: ask_scopes_raise
-- Adds new passages to the sums of their scopes.
UPDATE ask_scopes
SET passages = ask_scopes.passages + new.passages, length = ask_scopes.length + new.length
FROM unnest($1::integer[], $2::bigint[], $3::bigint[]) AS new (id, passages, length)
WHERE ask_scopes.id = new.id;

-- name: ask_keys
-- The keys of indexed documents that begin so, in their order, after one of them.
SELECT key FROM ask_documents
WHERE starts_with(key, $1) AND key > $2
ORDER BY key
LIMIT $3;

-- name: ask_size
-- How much is indexed.
SELECT
    (SELECT count(*) FROM ask_documents) AS documents,
    (SELECT coalesce(sum(passages), 0)::bigint FROM ask_scopes) AS passages;

-- name: ask_search
-- The best passages for weighted terms by BM25, of what the asker may see and has asked for.
-- Terms with one concept are alternatives: the best of them counts. The score falls with the share
-- of concepts that are missing, to the power of $4.
-- $1 terms, $2 their concepts, $3 their weights (1: asked for in so many words), $4 coverage,
-- $5 share of passages above which a term is common, $6 engines that are hidden from the asker,
-- $7 the asker, $8 kinds, $9 engine, $10 user, $11 since, $12 until, $13 time class, $14 outcome,
-- $15 how many, $16 whether 10 to 14 restrict anything.
WITH visible AS MATERIALIZED (
    SELECT
        id, passages, length,
        ($8::text[] = '{}' OR kind = ANY ($8)) AND $9::text IN ('', engine) AS wanted
    FROM ask_scopes
    WHERE NOT engines && $6::text[] AND owner IN ('', $7::text)
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
    JOIN ask_frequencies AS f USING (term)
    JOIN visible ON visible.id = f.scope
    GROUP BY term
),
rated AS MATERIALIZED (
    SELECT
        term, concept, weight, frequent.passages <= $5::float8 * whole.passages AS rare,
        weight * ln(1 + (whole.passages - frequent.passages + 0.5) / (frequent.passages + 0.5))
            AS worth
    FROM whole, unnest($1::text[], $2::integer[], $3::float8[]) AS a (term, concept, weight)
    JOIN frequent USING (term)
),
used AS MATERIALIZED (
    SELECT term, concept, worth
    FROM rated
    WHERE rare OR weight = 1 AND NOT EXISTS (SELECT FROM rated WHERE rare AND weight = 1)
),
found AS MATERIALIZED (
    SELECT
        passage, concept,
        max(worth * count / (count + flat + steep * p.length)) AS score
    FROM whole, used JOIN ask_postings AS p USING (term)
    WHERE p.scope = ANY (ARRAY(SELECT id FROM visible WHERE wanted))
    GROUP BY passage, concept
),
scored AS MATERIALIZED (
    SELECT
        passage,
        sum(score) * power(
            count(*)::float8 / (SELECT count(DISTINCT concept) FROM used), $4::float8
        ) AS score
    FROM found
    GROUP BY passage
),
kept AS (
    SELECT passage, score
    FROM scored
    WHERE NOT $16::boolean OR EXISTS (
        SELECT FROM ask_passages JOIN ask_documents ON ask_documents.id = ask_passages.document
        WHERE ask_passages.id = scored.passage
            AND ($10::text = '' OR user_name = $10)
            AND ($11::timestamptz IS NULL OR at >= $11)
            AND ($12::timestamptz IS NULL OR at < $12)
            AND ($13::text = '' OR time_class = $13)
            AND ($14::text = '' OR outcome = $14)
    )
    ORDER BY score DESC
    FETCH FIRST ($15::integer) ROWS WITH TIES
)
SELECT
    key, place, kind, title, text, url, score, engine, user_name AS "user", at AS time, tc,
    outcome, elo, commit_hash AS commit, statistics, links
FROM kept
JOIN ask_passages ON ask_passages.id = kept.passage
JOIN ask_documents ON ask_documents.id = ask_passages.document
JOIN ask_scopes ON ask_scopes.id = ask_documents.scope
ORDER BY score DESC, key, place
LIMIT $15::integer;

-- name: ask_frequencies_of
-- In how many passages that the asker may see each of the terms stands, the rarest first.
-- $1 terms, $2 engines that are hidden from the asker, $3 the asker.
SELECT term
FROM ask_frequencies AS f JOIN ask_scopes ON ask_scopes.id = f.scope
WHERE term = ANY ($1::text[]) AND NOT engines && $2::text[] AND owner IN ('', $3::text)
GROUP BY term
ORDER BY sum(f.passages), term;
