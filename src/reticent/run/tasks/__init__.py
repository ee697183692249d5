"""Runs on a number to predict, or on several labels at once: the job of ``run.job`` for these."""
