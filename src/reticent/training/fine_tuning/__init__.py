"""Networks that start from public weights and train a part of themselves. No noise in here."""
