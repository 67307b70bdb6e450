-- What was done to engines and teams is in the log too; who may read it depends on both.
ALTER TABLE actions ADD COLUMN engine text, ADD COLUMN team text;
