"""Pictures of explanations as SVG, drawn from top to bottom."""
