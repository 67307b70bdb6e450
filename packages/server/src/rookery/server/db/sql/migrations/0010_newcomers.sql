-- expand: runs.newcomers, whether half of the games of a decided run are from users without standing.
ALTER TABLE runs ADD COLUMN newcomers boolean NOT NULL DEFAULT false;
