"""The requests and responses of the API, one class each: for use cases, routes and clients."""
