"""Training of the classifier that tells whether two texts say the same."""
