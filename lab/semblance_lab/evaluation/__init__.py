"""Evaluation of measures against human judgments."""
