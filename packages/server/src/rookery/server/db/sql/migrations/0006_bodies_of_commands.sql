-- expand: done_commands.body, by which a key that comes with another body is told apart.
-- A digest of what the command said; empty where only this command has its key, and in older rows.
ALTER TABLE done_commands ADD COLUMN body text NOT NULL DEFAULT '';
