"""How good a measure is, against what people said."""
