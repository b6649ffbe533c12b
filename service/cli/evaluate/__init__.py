"""`semblance evaluate`: how well measures agree with people."""
