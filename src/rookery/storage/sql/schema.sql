-- The whole present schema, to be read from top to bottom. A test shows that it equals the sum of
-- the migrations, which are what is run.

-- Which migrations this database has seen, and their SHA-256 at that time.
CREATE TABLE schema_migrations (
    number integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- The right to write. Every write transaction locks this row FOR SHARE first; a takeover counts the
-- epoch up, which waits for those that are under way and refuses those that come late.
CREATE TABLE fence (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    epoch bigint NOT NULL
);
INSERT INTO fence (epoch) VALUES (0);

-- Who is primary, and until when by the clock of this database. Another row than the fence, so that
-- heartbeats and writes do not wait for each other.
CREATE TABLE lease (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    epoch bigint NOT NULL,
    holder text NOT NULL,
    address text NOT NULL,
    expires_at timestamptz NOT NULL
);
INSERT INTO lease (epoch, holder, address, expires_at) VALUES (0, '', '', '-infinity');

-- People with an account.
CREATE TABLE users (
    name text PRIMARY KEY CHECK (name <> ''),
    email text NOT NULL,
    password_hash text NOT NULL,
    groups text[] NOT NULL DEFAULT '{}',
    blocked boolean NOT NULL DEFAULT false,
    pending boolean NOT NULL DEFAULT true,
    machine_limit integer NOT NULL CHECK (machine_limit >= 0),
    created timestamptz NOT NULL
);

-- Keys that every process of this database must share and that outlive a restart.
CREATE TABLE secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);

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
