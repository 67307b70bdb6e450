-- Programs that people upload instead of naming a commit.

-- Uploaded programs by the SHA-256 of their bytes, which lie in blobs.
CREATE TABLE binaries (
    sha256 text PRIMARY KEY,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    name text NOT NULL,
    user_name text NOT NULL,
    created timestamptz NOT NULL
);
