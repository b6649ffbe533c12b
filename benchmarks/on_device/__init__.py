"""The parts of `benchmarks.gpu`; they need torch, transformers and sentence-transformers only."""
