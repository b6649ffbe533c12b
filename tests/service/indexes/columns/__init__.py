"""Tests of semblance.service.indexes.columns."""
