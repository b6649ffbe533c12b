"""langchain-semblance in its environment."""
