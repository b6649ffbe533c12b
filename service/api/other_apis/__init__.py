"""Other APIs, with their routes: OpenAI, Cohere, Jina, Voyage, vLLM, TEI, Ollama."""
