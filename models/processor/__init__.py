"""What the processor can do: cores that may be used, its fastest number type."""
