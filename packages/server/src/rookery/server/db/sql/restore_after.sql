-- Run in the same transaction after the content of a backup: refuses a schema from another past or
-- one that this version is too old for, and moves the epoch past both, so that no writer from before
-- goes on.
SELECT
    set_config('rookery.known', :'known', true),
    set_config('rookery.baseline', :'baseline', true);
DO $$
BEGIN
    IF (SELECT checksum FROM public.schema_migrations ORDER BY number LIMIT 1)
        IS DISTINCT FROM current_setting('rookery.baseline') THEN
        RAISE EXCEPTION 'the backup was made by a development state of Rookery from before 0.1, '
            'which this version cannot read';
    END IF;
    IF EXISTS (
        SELECT FROM public.schema_migrations AS each
        WHERE number > current_setting('rookery.known')::integer
            AND (to_jsonb(each) ->> 'needs')::integer > current_setting('rookery.known')::integer
    ) THEN
        RAISE EXCEPTION 'the backup was made by a newer Rookery';
    END IF;
END
$$;
UPDATE public.fence
SET epoch = greatest(epoch, (SELECT coalesce(max(epoch), 0) FROM before_restore)) + 1;
UPDATE public.lease SET epoch = (SELECT epoch FROM public.fence), expires_at = '-infinity';
-- What needs an extension that is not to be had here was left out; the next migration asks again.
DELETE FROM public.schema_migrations WHERE number = ANY (:'left_out'::integer[]);
