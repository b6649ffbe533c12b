"""Pairs of texts judged by people: readers, scores, confidence intervals and reliability."""
