"""What the files of a model say."""
