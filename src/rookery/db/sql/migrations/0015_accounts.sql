-- What was done to an account is looked for by its name.
CREATE INDEX actions_by_subject ON actions (subject, at DESC, id DESC) WHERE subject IS NOT NULL;
