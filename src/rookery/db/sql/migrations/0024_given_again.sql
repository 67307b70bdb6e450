-- Files that belonged to a private engine when somebody gave them who could not know that.
CREATE TABLE given_again (
    file text NOT NULL,
    engine text NOT NULL,
    user_name text NOT NULL,
    given timestamptz NOT NULL,
    size bigint NOT NULL,
    PRIMARY KEY (file, engine, user_name)
);
CREATE INDEX given_again_by_user ON given_again (user_name);
