"""Statistics of evaluations: metrics from counts, and their confidence intervals."""
