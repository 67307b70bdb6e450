-- Repositories that the server may open with its own credentials; an empty team is everybody.
CREATE TABLE granted_repositories (
    repository text NOT NULL,
    team text NOT NULL,
    granted_by text NOT NULL,
    granted timestamptz NOT NULL,
    PRIMARY KEY (repository, team)
);
