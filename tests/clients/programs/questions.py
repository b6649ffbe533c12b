"""Questions to semantic caches: the same in other words, and the opposite."""

QUESTION = "How do I turn on dark mode?"
REWORDED = "How can I turn on the dark mode?"
OPPOSITE = "How do I turn off dark mode?"
