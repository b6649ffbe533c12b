"""Data of Semblance: `model/`, a folder of sentence-transformers, and `fonts/`."""
