"""Harvests: sampled sentence pairs with Origin's scores, as training data of a surrogate."""
