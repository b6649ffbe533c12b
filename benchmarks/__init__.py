"""One question a file: each prints a table, and writes JSON beside it under benchmarks/results/."""
