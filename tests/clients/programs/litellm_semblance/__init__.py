"""litellm-semblance in its environment."""
