"""HTTP: routes parse, call one use case, and shape the response."""
