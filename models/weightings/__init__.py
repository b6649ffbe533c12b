"""The weightings, one a file: how much each token counts in the mean of a text."""
