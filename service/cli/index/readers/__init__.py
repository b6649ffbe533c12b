"""Read files of documents row by row; pyarrow is needed by two of the modules only."""
