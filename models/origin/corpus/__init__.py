"""Sentences in the order in which they were written, and how chunks of them are found."""
