"""The databases: SQLite and PostgreSQL, and what their errors mean."""
