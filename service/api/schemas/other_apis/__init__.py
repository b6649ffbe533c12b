"""Bodies in the shapes of other APIs: OpenAI, Cohere, Jina, Voyage, vLLM, TEI."""
