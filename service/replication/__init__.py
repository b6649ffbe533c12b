"""Access to collections on a single node, or as a replica of a primary database."""
