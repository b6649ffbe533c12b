"""Middlewares: what holds for every request, whatever its route."""
