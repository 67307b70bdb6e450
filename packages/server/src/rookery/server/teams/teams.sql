-- name: teams_all
-- All teams with their members, by name.
SELECT
    teams.name, teams.created,
    coalesce(array_agg(user_name) FILTER (WHERE user_name IS NOT NULL), '{}') AS members,
    coalesce(array_agg(user_name) FILTER (WHERE lead), '{}') AS leads
FROM teams LEFT JOIN team_members ON team_members.team = teams.name
GROUP BY teams.name
ORDER BY teams.name COLLATE "C";

-- name: teams_add
-- Adds a team; returns nothing if there is one with that name.
INSERT INTO teams (name, created) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING name;

-- name: team_members_clear
-- Removes all members of a team, before they are stored anew.
DELETE FROM team_members WHERE team = $1;

-- name: team_members_put
-- Stores the members of a team and who leads it; accounts that no longer exist are left out.
INSERT INTO team_members (team, user_name, lead)
SELECT $1, users.name, member.lead
FROM unnest($2::text[], $3::boolean[]) AS member (name, lead) JOIN users USING (name);
