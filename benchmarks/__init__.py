"""Measurements. Run with ``python -m benchmarks``; tables in the docs are made from results/."""
