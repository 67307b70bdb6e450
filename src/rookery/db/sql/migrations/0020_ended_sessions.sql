-- Sessions that somebody logged out of, by a digest of their token, until their cookies expire.
CREATE TABLE ended_sessions (
    digest bytea PRIMARY KEY,
    until timestamptz NOT NULL
);
