"""Parts of `benchmarks.speed.gpu`; they need only the packages that it names."""
