-- How much one user may keep here: null is what the site allows everybody.
ALTER TABLE users ADD COLUMN upload_mb integer CHECK (upload_mb >= 0);
CREATE INDEX nets_of_user ON nets (user_name);
CREATE INDEX binaries_of_user ON binaries (user_name);
CREATE INDEX books_of_user ON books (user_name);
