-- Teams: who works together on engines.

-- Teams by name, and who is in them.
CREATE TABLE teams (
    name text PRIMARY KEY,
    created timestamptz NOT NULL
);
CREATE TABLE team_members (
    team text NOT NULL REFERENCES teams,
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    lead boolean NOT NULL,
    PRIMARY KEY (team, user_name)
);
CREATE INDEX team_members_of_user ON team_members (user_name);
