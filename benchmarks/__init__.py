"""Benchmarks; each answers one question and saves its figures in benchmarks/results/."""
