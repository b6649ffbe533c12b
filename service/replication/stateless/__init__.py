"""A replica without a copy: it reads the primary and searches a remote index."""
