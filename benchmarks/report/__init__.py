"""Pages and pictures of figures."""
