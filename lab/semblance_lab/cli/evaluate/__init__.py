"""`semblance evaluate`: agreement of scores with human judgments."""
