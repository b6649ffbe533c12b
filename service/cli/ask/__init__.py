"""Verbs that ask a service, or the documents of a home: one file a verb."""
