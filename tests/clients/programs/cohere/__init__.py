"""Run in the environment of environments/cohere.txt."""
