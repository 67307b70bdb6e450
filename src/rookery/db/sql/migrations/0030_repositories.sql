-- Where people keep their own branches, by engine.
ALTER TABLE users ADD COLUMN repositories jsonb NOT NULL DEFAULT '{}';
