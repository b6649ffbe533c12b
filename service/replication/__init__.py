"""Access to the collections, on one node or as a replica of PostgreSQL."""
