"""How the network of a transformer is run: packed batches, CUDA graphs, exports."""
