-- The fleet: runs and their tasks, what was purged, the log, charts, machines.

-- The number of the last group commit: what listeners catch up by, and how a new primary goes on.
CREATE TABLE commits (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    sequence bigint NOT NULL
);
INSERT INTO commits (sequence) VALUES (0);

-- Tests. The first part is written when a run is made or modified, the second with every result, as
-- absolute values. Nothing of the second part is indexed while a run plays, so that PostgreSQL can
-- update the row in place: `listed` is empty until the run has ended.
CREATE TABLE runs (
    id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{24}$'),
    created timestamptz NOT NULL,
    owner text NOT NULL,
    engines text[] NOT NULL,
    tc_base float8 NOT NULL,
    plan jsonb NOT NULL,
    demands jsonb NOT NULL,
    kind text NOT NULL,
    rules jsonb NOT NULL,
    reference_nps float8 NOT NULL,
    rescheduled_from text NOT NULL,

    updated timestamptz NOT NULL,
    sequence bigint NOT NULL,
    standing jsonb NOT NULL,
    approver text NOT NULL,
    finished boolean NOT NULL,
    failed boolean NOT NULL,
    deleted boolean NOT NULL,
    failures integer NOT NULL,
    flag text NOT NULL CHECK (flag IN ('none', 'green', 'yellow')),
    workers integer NOT NULL,
    cores integer NOT NULL,
    committed bigint NOT NULL,
    total bigint NOT NULL,
    tasks integer NOT NULL,
    wins bigint NOT NULL,
    losses bigint NOT NULL,
    draws bigint NOT NULL,
    crashes bigint NOT NULL,
    time_losses bigint NOT NULL,
    p0 bigint NOT NULL,
    p1 bigint NOT NULL,
    p2 bigint NOT NULL,
    p3 bigint NOT NULL,
    p4 bigint NOT NULL,
    -- Tasks with lower numbers ended with the run, whatever their own rows still say: a run ends by
    -- one row, and the rows of its tasks follow.
    closed_below integer NOT NULL,
    listed timestamptz GENERATED ALWAYS AS (
        CASE WHEN finished AND NOT deleted THEN updated END
    ) STORED
) WITH (fillfactor = 70);
CREATE INDEX runs_unfinished ON runs (id) WHERE NOT finished;
CREATE INDEX runs_listed ON runs (listed DESC, id DESC) WHERE listed IS NOT NULL;
CREATE INDEX runs_of_owner ON runs (owner, listed DESC, id DESC) WHERE listed IS NOT NULL;
CREATE INDEX runs_flagged ON runs (flag, listed DESC, id DESC)
    WHERE listed IS NOT NULL AND flag <> 'none';
CREATE INDEX runs_long ON runs (listed DESC, id DESC) WHERE listed IS NOT NULL AND tc_base >= 40;

-- How a run came to stand where it does, for kinds that remember it: only ever appended to.
CREATE TABLE run_history (
    run text NOT NULL REFERENCES runs,
    place integer NOT NULL,
    entry jsonb NOT NULL,
    PRIMARY KEY (run, place)
);

-- Slices of a run's games on one machine each.
CREATE TABLE tasks (
    run text NOT NULL REFERENCES runs,
    id integer NOT NULL,
    start bigint NOT NULL,
    games integer NOT NULL,
    machine jsonb NOT NULL,
    created timestamptz NOT NULL,

    reported timestamptz NOT NULL,
    wins integer NOT NULL,
    losses integer NOT NULL,
    draws integer NOT NULL,
    crashes integer NOT NULL,
    time_losses integer NOT NULL,
    p0 integer NOT NULL,
    p1 integer NOT NULL,
    p2 integer NOT NULL,
    p3 integer NOT NULL,
    p4 integer NOT NULL,
    ticket jsonb,
    active boolean NOT NULL,
    bad boolean NOT NULL,
    too_fast boolean NOT NULL,
    -- The last sign of life, written in bulk and for display alone.
    seen timestamptz,
    PRIMARY KEY (run, id)
) WITH (fillfactor = 80);
CREATE INDEX tasks_active ON tasks (run, id) WHERE active;

-- Tasks as they are, also while their own rows lag behind the end of their run.
CREATE VIEW present_tasks AS
SELECT
    tasks.run, tasks.id, start, games, machine, tasks.created, reported, tasks.wins, tasks.losses,
    tasks.draws, tasks.crashes, tasks.time_losses, tasks.p0, tasks.p1, tasks.p2, tasks.p3, tasks.p4,
    CASE WHEN tasks.id >= closed_below OR NOT active THEN ticket END AS ticket,
    active AND tasks.id >= closed_below AS active,
    bad, too_fast, seen
FROM tasks JOIN runs ON runs.id = tasks.run;

-- What tasks had reported before a purge struck it out, in the order of the purges.
CREATE TABLE bad_tasks (
    run text NOT NULL,
    task integer NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    wins integer NOT NULL,
    losses integer NOT NULL,
    draws integer NOT NULL,
    crashes integer NOT NULL,
    time_losses integer NOT NULL,
    p0 integer NOT NULL,
    p1 integer NOT NULL,
    p2 integer NOT NULL,
    p3 integer NOT NULL,
    p4 integer NOT NULL,
    residual float8 NOT NULL,
    colour text NOT NULL,
    PRIMARY KEY (run, task),
    FOREIGN KEY (run, task) REFERENCES tasks
);

-- The log: who did what. What an action does not have is null.
CREATE TABLE actions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    action text NOT NULL,
    username text NOT NULL,
    worker text,
    run_id text,
    run text,
    task_id integer,
    message text,
    nn text,
    subject text
);
CREATE INDEX actions_at ON actions (at DESC, id DESC);
CREATE INDEX actions_by_action ON actions (action, at DESC, id DESC);
CREATE INDEX actions_by_username ON actions (username, at DESC, id DESC);
CREATE INDEX actions_by_worker ON actions (worker, at DESC, id DESC) WHERE worker IS NOT NULL;
CREATE INDEX actions_by_run ON actions (run_id, at DESC, id DESC) WHERE run_id IS NOT NULL;
CREATE INDEX actions_by_name ON actions (run, at DESC, id DESC) WHERE run IS NOT NULL;

-- The points of a run's charts, thinned as it grows; `place` is in games.
CREATE TABLE samples (
    run text NOT NULL REFERENCES runs,
    place integer NOT NULL,
    at timestamptz NOT NULL,
    games integer NOT NULL,
    p0 integer NOT NULL,
    p1 integer NOT NULL,
    p2 integer NOT NULL,
    p3 integer NOT NULL,
    p4 integer NOT NULL,
    llr float8 NOT NULL,
    cores integer NOT NULL,
    PRIMARY KEY (run, place)
);

-- How each reported batch of games was played.
CREATE TABLE provenance (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL REFERENCES runs,
    task integer NOT NULL,
    at timestamptz NOT NULL,
    games integer NOT NULL,
    runner text NOT NULL,
    version text NOT NULL,
    new_hash text NOT NULL,
    base_hash text NOT NULL,
    factor float8 NOT NULL,
    latency_ms float8 NOT NULL
);
CREATE INDEX provenance_of_run ON provenance (run, id);

-- Machines that are given no tasks, with the message they are told.
CREATE TABLE blocked_machines (
    short_name text PRIMARY KEY,
    message text NOT NULL,
    at timestamptz NOT NULL
);

-- Which runs a machine has played, so that it goes on with those it knows.
CREATE TABLE recalled_machines (
    short_name text PRIMARY KEY,
    seen text[] NOT NULL,
    last text NOT NULL
);
