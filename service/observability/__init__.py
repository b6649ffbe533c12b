"""What the operator sees: metrics, logs, timings."""
