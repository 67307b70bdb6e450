-- What was ever written of engines, by version from 1 on.
CREATE TABLE engine_versions (
    name text NOT NULL,
    version integer NOT NULL,
    record jsonb NOT NULL,
    changed timestamptz NOT NULL,
    changed_by text NOT NULL,
    removed boolean NOT NULL,
    PRIMARY KEY (name, version)
);
INSERT INTO engine_versions (name, version, record, changed, changed_by, removed)
SELECT name, 1, record, changed, changed_by, removed FROM engines;
