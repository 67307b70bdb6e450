-- Games that were played in good faith and reached the server after their run had ended. They count
-- for those who played them, and not for the result.
CREATE TABLE late_games (
    run text NOT NULL,
    task integer NOT NULL,
    games integer NOT NULL,
    reported timestamptz NOT NULL,
    PRIMARY KEY (run, task),
    FOREIGN KEY (run, task) REFERENCES tasks
);
