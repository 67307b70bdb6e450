-- Listeners that missed something ask which runs changed after a commit. A column that is empty while
-- a run plays can be indexed without costing every result an index entry.
ALTER TABLE runs ADD COLUMN settled bigint
    GENERATED ALWAYS AS (CASE WHEN finished THEN sequence END) STORED;
CREATE INDEX runs_settled ON runs (settled DESC) WHERE settled IS NOT NULL;
