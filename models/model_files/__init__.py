"""Read and check the files of a model."""
