-- name: findings_save
-- Stores the result of a job, replacing the previous one.
INSERT INTO findings (kind, about, document, made) VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, about) DO UPDATE SET document = excluded.document, made = excluded.made;

-- name: findings_of
-- The results of a job for some of its subjects.
SELECT about, document FROM findings WHERE kind = $1 AND about = ANY ($2::text[]);
