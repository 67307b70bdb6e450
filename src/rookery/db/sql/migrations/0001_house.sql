-- The house: bookkeeping of migrations, the fence and the lease, users, secrets.

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
