-- name: repositories_all
-- The repositories that the server may open with its own credentials, and for whom.
SELECT repository, team, granted_by, granted FROM granted_repositories
ORDER BY repository COLLATE "C", team COLLATE "C";

-- name: repositories_add
-- Grants a repository; does nothing if it is granted already.
INSERT INTO granted_repositories (repository, team, granted_by, granted)
VALUES ($1, $2, $3, $4) ON CONFLICT (repository, team) DO NOTHING;

-- name: repositories_remove
-- Revokes a grant; returns nothing if there was none.
DELETE FROM granted_repositories WHERE repository = $1 AND team = $2 RETURNING repository;
