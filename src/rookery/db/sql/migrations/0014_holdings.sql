-- Holdings: whose a file is.

-- Files that were given for an engine: nets, programs and books, by the name they are fetched by.
CREATE TABLE holdings (
    file text PRIMARY KEY,
    engine text NOT NULL
);
