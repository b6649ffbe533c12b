"""`semblance pairs`: sentence pairs for training and rankings for evaluation."""
