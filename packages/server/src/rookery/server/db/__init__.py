"""The database: pool, fence, lease, migrations, listening, backup, and the embedded server."""
