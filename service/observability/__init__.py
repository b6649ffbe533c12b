"""Metrics, stage times, traces and logs."""
