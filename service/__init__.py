"""The HTTP service, its storage and its command line."""

import os

# the spinning threads of NumPy's BLAS would compete with the model for processors
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
