"""Self-contained HTML pages: no scripts, fonts or network access."""
