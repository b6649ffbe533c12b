"""Files on disk, read and written safely; nothing here knows a model."""
