-- Engines: the records that people wrote or changed.

-- Engines by name. A removed one stays: its runs belong to its team for good.
CREATE TABLE engines (
    name text PRIMARY KEY,
    record jsonb NOT NULL,
    changed timestamptz NOT NULL,
    changed_by text NOT NULL,
    removed boolean NOT NULL DEFAULT false
);
