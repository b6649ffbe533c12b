"""Run in the environment of environments/langchain.txt."""
