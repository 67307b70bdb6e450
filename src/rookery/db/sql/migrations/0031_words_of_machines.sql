-- A machine's lines are found by the beginning of its name, whatever the language of the database.
CREATE INDEX actions_by_machine ON actions (worker COLLATE "C", at DESC, id DESC)
    WHERE worker IS NOT NULL;
