"""From many callers to one model: what runs together (`policy`), and the thread that runs it (`worker`)."""
