"""The product: what is served, and by what."""

import os

# NumPy's own threads, which wait by spinning, would take the processors from the model's
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
