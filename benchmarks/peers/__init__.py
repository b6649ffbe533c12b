"""Other people's servers and libraries, which benchmarks measure beside ours."""
