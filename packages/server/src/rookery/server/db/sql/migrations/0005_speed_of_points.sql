-- expand: samples.nps, how fast a run's machines were at each point of its charts.
-- Nodes a second over all their cores; null where it was not known, as in points of older code.
ALTER TABLE samples ADD COLUMN nps float8;
