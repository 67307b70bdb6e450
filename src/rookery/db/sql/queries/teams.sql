-- name: teams_all
-- All teams with who is in them, by name.
SELECT
    teams.name, teams.created,
    coalesce(array_agg(user_name) FILTER (WHERE user_name IS NOT NULL), '{}') AS members,
    coalesce(array_agg(user_name) FILTER (WHERE lead), '{}') AS leads
FROM teams LEFT JOIN team_members ON team_members.team = teams.name
GROUP BY teams.name
ORDER BY teams.name COLLATE "C";

-- name: teams_add
-- A new team; nothing when there is one of that name.
INSERT INTO teams (name, created) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING name;

-- name: team_members_clear
-- Forgets who is in a team, before it is written anew.
DELETE FROM team_members WHERE team = $1;

-- name: team_members_put
-- Who is in a team and who leads it; accounts that have gone meanwhile are left out.
INSERT INTO team_members (team, user_name, lead)
SELECT $1, users.name, member.lead
FROM unnest($2::text[], $3::boolean[]) AS member (name, lead) JOIN users USING (name);
