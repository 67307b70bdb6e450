-- expand: blocked_machines.actor, by which a block of an approver is told from one of the owner.
-- Blocks from before have who wrote them into the log; empty where nobody knows.
ALTER TABLE blocked_machines ADD COLUMN actor text NOT NULL DEFAULT '';
UPDATE blocked_machines SET actor = coalesce(
    (
        SELECT username FROM actions
        WHERE worker = short_name AND action = 'block_worker' AND message = 'blocked'
        ORDER BY at DESC, id DESC LIMIT 1
    ),
    ''
);
