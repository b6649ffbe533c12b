"""What the service does, as plain async functions over ports."""
