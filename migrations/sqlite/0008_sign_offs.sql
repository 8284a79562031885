-- Where a workflow has no status of the role review, what is at work (role 1) waits for the sign-off (flag 2) of whoever is to give it
-- (flag 64 of its brief): there is no later place to ask for it.
--
-- What is written from here on says which ends ask for checks (`checksWhen`), which older programs take for damage. The number of
-- this migration is what turns them away.
UPDATE items SET inbox = inbox | 2
    WHERE role = 1 AND sections & 64 <> 0 AND inbox & 2 = 0 AND project_id IN (
        SELECT r.project_id FROM rules r WHERE NOT EXISTS (
            SELECT 1 FROM json_each(r.workflow, '$.statuses') s WHERE json_extract(s.value, '$.role') = 'review'));
