"""The package semblance-client against running services."""
