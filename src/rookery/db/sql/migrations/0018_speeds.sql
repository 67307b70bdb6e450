-- How fast machines play engines, so that a restart does not forget it.
CREATE TABLE engine_speeds (
    engine text PRIMARY KEY,
    machines text[] NOT NULL,
    nps float8[] NOT NULL,
    told timestamptz NOT NULL
);
