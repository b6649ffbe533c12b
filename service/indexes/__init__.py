"""Vector indexes of collections, their snapshots, and what the engines share."""
