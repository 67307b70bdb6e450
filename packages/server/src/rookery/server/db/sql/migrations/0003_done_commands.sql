-- expand: done_commands, by which a command that is sent twice is carried out once.
-- Written by the commit that carries the command out; later ones remove rows older than a day.
CREATE TABLE done_commands (
    key text PRIMARY KEY,
    run text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX done_commands_by_time ON done_commands (at);
