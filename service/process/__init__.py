"""The process of a server: connections, start and shutdown."""
