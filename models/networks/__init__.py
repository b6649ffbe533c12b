"""Building blocks of runtimes: torch networks, packed batches, CUDA graphs, exports."""
