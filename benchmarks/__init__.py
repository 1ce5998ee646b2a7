"""How fast, side by side: ``python -m benchmarks`` (see `benchmarks.__main__`)."""
