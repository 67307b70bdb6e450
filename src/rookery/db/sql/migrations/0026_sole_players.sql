-- Whose results a verdict stands on, where nearly all are from one.
ALTER TABLE runs ADD COLUMN sole text NOT NULL DEFAULT '' CHECK (sole IN ('', 'machine', 'user'));
