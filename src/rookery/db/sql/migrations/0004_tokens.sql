-- Tokens: what programs and workers show instead of a password.

-- Access tokens. Of each only the SHA-256 is kept: 256 random bits need no slow hash.
CREATE TABLE tokens (
    id text PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    scopes text[] NOT NULL,
    note text NOT NULL,
    created timestamptz NOT NULL,
    expires timestamptz,
    revoked timestamptz,
    used timestamptz
);
CREATE INDEX tokens_by_user ON tokens (user_name);
