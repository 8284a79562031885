-- Where a workflow has no status of the role review, what is at work (role 1) waits for the sign-off (flag 2) of whoever is to give it
-- (flag 64 of its brief): there is no later place to ask for it.
--
-- What is written from here on says which ends ask for checks (`checksWhen`), which older programs take for damage. The number of
-- this migration is what turns them away.
UPDATE items SET inbox = inbox | 2
    WHERE role = 1 AND sections & 64 <> 0 AND inbox & 2 = 0 AND project_id IN (
        SELECT r.project_id FROM rules r WHERE NOT EXISTS (
            SELECT 1 FROM json_array_elements(r.workflow -> 'statuses') s WHERE s ->> 'role' = 'review'));

-- Announcements are those of one schema: another one of the same database has numbers of its own. So the first half of a lock's name
-- is the schema's sequence, and the second the lower half of the number; whoever reads puts the upper half back, which is that
-- of the numbers taken, or the one beside it.
CREATE OR REPLACE FUNCTION docket_announce() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lowest bigint;
    place  bigint := 'events_seq'::regclass::oid::bigint;
BEGIN
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO lowest FROM events_seq;
    lowest := lowest & 4294967295;
    PERFORM pg_advisory_xact_lock_shared((place - ((place >> 31) << 32))::int, (lowest - ((lowest >> 31) << 32))::int);
    RETURN true;
END $$;

-- The three looks of before. What was announced in the old way, by a transaction that runs while this is made, counts as well.
CREATE OR REPLACE FUNCTION docket_head(OUT head bigint, OUT settled boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    taken   bigint;
    running bigint;
    place   bigint := 'events_seq'::regclass::oid::bigint;
BEGIN
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO taken FROM events_seq;
    SELECT min(CASE WHEN objsubid = 1 THEN ((classid::bigint & 65535) << 32) | objid::bigint
                    ELSE taken - 2147483648 + ((objid::bigint - (taken & 4294967295) + 6442450944) % 4294967296) END)
        INTO running FROM pg_locks
        WHERE locktype = 'advisory'
        AND ((objsubid = 2 AND classid::bigint = place) OR (objsubid = 1 AND (classid::bigint >> 16) = 53443))
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
    SELECT coalesce((SELECT seq FROM events WHERE seq <= least(taken, running) ORDER BY seq DESC LIMIT 1), 0) INTO head;
    settled := running IS NULL OR running >= taken;
END $$;
