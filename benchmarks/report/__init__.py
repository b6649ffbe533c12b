"""Pages and pictures of the figures."""
