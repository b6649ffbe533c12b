"""Requests of the methods of both clients, and parsers of their responses."""
