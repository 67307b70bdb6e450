-- Purges that outlive the process that began them.

-- Purges that are due, or under way and not over: whoever is primary next carries them on.
CREATE TABLE purges (
    run text PRIMARY KEY REFERENCES runs,
    actor text NOT NULL,
    revive boolean NOT NULL,
    -- Null until all tasks were looked at.
    culprit jsonb,
    toll jsonb NOT NULL
);
