"""Read files of documents row by row, one format a module."""
