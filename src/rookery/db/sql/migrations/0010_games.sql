-- What is known of uploaded games, and the logs of tasks that failed.

-- The games of an upload in the order of its text. A fleet plays a hundred million, so that each
-- column holds one packed entry per game: a byte for outcome and ending, two for the half moves,
-- eight that equal openings share, four for the place in the text. Stays when the games are gone.
CREATE TABLE game_index (
    blob text PRIMARY KEY,
    run text NOT NULL,
    task integer NOT NULL,
    at timestamptz NOT NULL,
    games integer NOT NULL,
    endings bytea NOT NULL,
    plies bytea NOT NULL,
    openings bytea NOT NULL,
    places bytea NOT NULL
);
CREATE INDEX game_index_of_task ON game_index (run, task, at);

-- What workers wrote down before a task failed; the texts lie in blobs.
CREATE TABLE worker_logs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    task integer NOT NULL,
    call text NOT NULL,
    worker text NOT NULL,
    at timestamptz NOT NULL,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL
);
CREATE INDEX worker_logs_of_run ON worker_logs (run, task);
CREATE INDEX worker_logs_at ON worker_logs (at);
