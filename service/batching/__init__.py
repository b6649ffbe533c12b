"""From many callers to one model: what runs together (`policy`), what waits (`orders`), and the thread (`worker`)."""
