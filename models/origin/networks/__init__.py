"""The models of Eq. 1 and Eq. 2: what a sentence and its neighbours say of each other."""
