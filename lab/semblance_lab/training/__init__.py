"""Training of encoders: objectives, recipes, batches and checkpoints."""
