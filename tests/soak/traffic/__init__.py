"""Readers and writers that know what every answer has to be."""
