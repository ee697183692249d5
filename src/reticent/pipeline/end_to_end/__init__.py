"""The end-to-end audit of every release of the package."""
