"""Programs that call the service by the clients of other APIs, each in an environment of its own."""
