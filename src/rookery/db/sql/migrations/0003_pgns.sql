-- Games that workers uploaded, by task; the games themselves lie in blobs.
CREATE TABLE pgns (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    task integer NOT NULL,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX pgns_of_task ON pgns (run, task, id);
CREATE INDEX pgns_at ON pgns (at);
