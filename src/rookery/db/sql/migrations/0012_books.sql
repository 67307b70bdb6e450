-- Opening books of one's own.

-- Books by name; the text lies in a blob. `sri` is the hash by which workers check their copy.
CREATE TABLE books (
    name text PRIMARY KEY,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    sri text NOT NULL,
    openings bigint NOT NULL,
    user_name text NOT NULL,
    created timestamptz NOT NULL
);
