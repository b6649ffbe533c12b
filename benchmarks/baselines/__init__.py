"""Third-party servers and libraries that benchmarks compare with ours."""
