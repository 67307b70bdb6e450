-- name: findings_save
-- What a job found out, in the place of what it knew before.
INSERT INTO findings (kind, about, document, made) VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, about) DO UPDATE SET document = excluded.document, made = excluded.made;

-- name: findings_of
-- What a job found out about some of its subjects.
SELECT about, document FROM findings WHERE kind = $1 AND about = ANY ($2::text[]);
