-- expand: the rows by which several servers on one database know of one another.

-- A row for each server process, which it writes itself every few seconds; any process may.
CREATE TABLE instances (
    name text PRIMARY KEY,
    -- Where other processes reach it.
    address text NOT NULL,
    version text NOT NULL,
    -- The last migration that it knows.
    schema integer NOT NULL,
    role text NOT NULL,
    started timestamptz NOT NULL,
    seen timestamptz NOT NULL,
    -- How it does, as JSON; another version may tell more or less.
    figures text NOT NULL
);

-- What only the primary has in memory, for others to show: it is written every few seconds, and of
-- no use once it is older than that.
CREATE TABLE fleet_activity (
    part text PRIMARY KEY,
    -- When it was true, and when it last became something else.
    at timestamptz NOT NULL,
    changed timestamptz NOT NULL,
    body bytea NOT NULL
);
