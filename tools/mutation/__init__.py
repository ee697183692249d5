"""Mutation testing: faults planted in the privacy code, and whether its tests notice them."""
