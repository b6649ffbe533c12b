"""Semblance in LiteLLM: a semantic cache."""

from litellm_semblance.cache import SemblanceCache

__all__ = ["SemblanceCache"]
