-- Nets: what engines evaluate with, named by their hash.

-- Nets that were uploaded; the gzip streams lie in blobs. `size` is that of the stream.
CREATE TABLE nets (
    name text PRIMARY KEY,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    user_name text NOT NULL,
    created timestamptz NOT NULL,
    downloads bigint NOT NULL DEFAULT 0
);
