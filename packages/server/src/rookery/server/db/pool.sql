-- name: alive
-- Whether the database answers.
SELECT 1;

-- name: pool_own_address
-- The address of this process as the database sees it; NULL for a local socket.
SELECT host(inet_client_addr());
