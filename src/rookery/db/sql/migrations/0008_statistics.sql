-- What users' machines have given, worked out by a job.

-- Games and time that users' machines gave to runs that are over.
CREATE TABLE contributions (
    run text NOT NULL REFERENCES runs,
    user_name text NOT NULL,
    games bigint NOT NULL,
    core_hours float8 NOT NULL,
    last timestamptz NOT NULL,
    PRIMARY KEY (run, user_name)
);

-- Runs whose contributions are counted, and the number of their row at that time.
CREATE TABLE credited_runs (
    run text PRIMARY KEY REFERENCES runs,
    sequence bigint NOT NULL
);

-- Sums of the above for each user, as pages show them; `month` is the last thirty days.
CREATE TABLE user_statistics (
    period text NOT NULL CHECK (period IN ('all', 'month')),
    user_name text NOT NULL,
    games bigint NOT NULL,
    core_hours float8 NOT NULL,
    tests integer NOT NULL,
    last timestamptz,
    PRIMARY KEY (period, user_name)
);
