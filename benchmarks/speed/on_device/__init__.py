"""The parts of `benchmarks.speed.gpu`; they need torch, transformers and sentence-transformers only."""
