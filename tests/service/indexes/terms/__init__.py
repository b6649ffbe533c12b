"""Tests of semblance.service.indexes.terms."""
