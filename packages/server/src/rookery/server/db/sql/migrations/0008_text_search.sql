-- expand concurrently with pg_trgm: an index for words anywhere in the names and texts of tests.
-- Spelled as in farm/action_log.py. Of ended tests alone, so that one that plays is written as
-- before; and without a list of what is to be sorted in later, which each search would read through.
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_by_words ON runs USING gin (
    (owner || ' ' || coalesce(plan #>> '{sides,0,engine}', '') || ' '
        || coalesce(plan #>> '{sides,1,engine}', '') || ' '
        || coalesce(plan #>> '{sides,0,tag}', '') || ' '
        || coalesce(plan #>> '{sides,1,tag}', '')) gin_trgm_ops,
    (plan ->> 'info') gin_trgm_ops,
    (coalesce(plan #>> '{sides,0,commit}', '') || ' '
        || coalesce(plan #>> '{sides,1,commit}', '')) gin_trgm_ops
) WITH (fastupdate = off) WHERE listed IS NOT NULL;
