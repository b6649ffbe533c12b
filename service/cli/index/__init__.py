"""`semblance index`: store documents and maintain collections."""
