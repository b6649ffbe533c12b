"""What holds for every request before it meets its route."""
