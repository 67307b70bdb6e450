-- name: speeds_all
-- What machines told of all engines, the latest at the end.
SELECT engine, machines, nps FROM engine_speeds ORDER BY told, engine;

-- name: speeds_save
-- What machines told of an engine, in the place of what was known.
INSERT INTO engine_speeds (engine, machines, nps, told) VALUES ($1, $2, $3, $4)
ON CONFLICT (engine) DO UPDATE
SET machines = excluded.machines, nps = excluded.nps, told = excluded.told;

-- name: speeds_drop
-- Forgets engines beyond so many, those first that were played longest ago.
DELETE FROM engine_speeds
WHERE engine IN (SELECT engine FROM engine_speeds ORDER BY told DESC, engine OFFSET $1);
