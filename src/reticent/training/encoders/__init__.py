"""Frozen encoders: from images or texts to features, one record at a time or in batches."""
