"""Document stores on SQLite and PostgreSQL, and backups."""
