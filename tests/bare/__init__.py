"""Tests of an installation without extras: that of a clone, and that of the wheels."""
