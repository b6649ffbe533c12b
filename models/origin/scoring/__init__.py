"""From contexts to a similarity, and to why it is what it is (Eq. 3 and 4)."""
