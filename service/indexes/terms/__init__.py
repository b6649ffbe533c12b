"""Rows by the terms of their texts: BM25, the codes of a query, and hybrid searches."""
