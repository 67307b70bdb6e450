-- expand: schema_migrations.needs, by which older code sees whether it may go on.
-- The number of the migration that code must know to run after this one; 0: any code may.
ALTER TABLE schema_migrations ADD COLUMN needs integer NOT NULL DEFAULT 0;
