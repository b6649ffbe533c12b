"""llama-index-semblance in its environment."""
