"""Use cases: async functions over ports."""
