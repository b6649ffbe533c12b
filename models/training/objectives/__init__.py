"""One loss a file; the file `clrcmd.py` holds the class `Clrcmd`."""
