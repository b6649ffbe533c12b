"""Run in the environment of environments/openai.txt."""
