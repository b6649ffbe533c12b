"""Networks of Eq. 1 and Eq. 2: coherence and likelihood of a sentence in its context."""
