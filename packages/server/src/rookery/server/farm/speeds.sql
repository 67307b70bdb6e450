-- name: speeds_all
-- The reported speeds of all engines, most recent last.
SELECT engine, machines, nps FROM engine_speeds ORDER BY told, engine;

-- name: speeds_save
-- Stores the reported speeds of an engine, replacing the previous ones.
INSERT INTO engine_speeds (engine, machines, nps, told) VALUES ($1, $2, $3, $4)
ON CONFLICT (engine) DO UPDATE
SET machines = excluded.machines, nps = excluded.nps, told = excluded.told;

-- name: speeds_drop
-- Removes engines beyond a number, least recently played first.
DELETE FROM engine_speeds
WHERE engine IN (SELECT engine FROM engine_speeds ORDER BY told DESC, engine OFFSET $1);
