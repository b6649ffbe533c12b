"""Files as documents."""
