"""Training objectives, one per file; the file `clrcmd.py` holds the class `Clrcmd`."""
