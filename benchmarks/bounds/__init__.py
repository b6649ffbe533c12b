"""Bounds on time and rates, which the tests leave out: a verdict by a clock depends on what else the machine does."""
