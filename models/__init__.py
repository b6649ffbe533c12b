"""The science: encoders and similarity measures. Pure and synchronous; knows no HTTP, SQL or environment."""
