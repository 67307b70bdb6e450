-- Run in one transaction before the content of a backup: remembers the epoch, clears the place.
CREATE TEMPORARY TABLE before_restore (epoch bigint) ON COMMIT DROP;
DO $$
BEGIN
    IF to_regclass('public.fence') IS NOT NULL THEN
        INSERT INTO before_restore SELECT epoch FROM public.fence FOR UPDATE;
    END IF;
END
$$;
DROP SCHEMA public CASCADE;
CREATE SCHEMA public AUTHORIZATION pg_database_owner;
COMMENT ON SCHEMA public IS 'standard public schema';
GRANT USAGE ON SCHEMA public TO PUBLIC;
