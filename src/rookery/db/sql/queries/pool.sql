-- name: alive
-- Whether the database answers at all.
SELECT 1;

-- name: pool_own_address
-- Where the database sees this process; NULL for a socket of the same machine.
SELECT host(inet_client_addr());
