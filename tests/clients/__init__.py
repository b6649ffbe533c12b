"""Clients of the service: semblance-client, and those of other APIs."""
