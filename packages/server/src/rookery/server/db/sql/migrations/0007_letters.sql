-- expand: the table of letters that wait to be sent, which older servers keep in memory.

-- Who asked for a letter with a link, and has not got it yet. The link is made when the letter is
-- sent: nothing secret is kept here.
CREATE TABLE letters (
    purpose text NOT NULL CHECK (purpose IN ('confirm', 'reset')),
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    asked timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    next_at timestamptz NOT NULL,
    PRIMARY KEY (purpose, user_name)
);
CREATE INDEX letters_next ON letters (next_at);
