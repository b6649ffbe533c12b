"""How encoders are trained: losses over the token and pooled vectors of a batch, and what makes them cheap."""
