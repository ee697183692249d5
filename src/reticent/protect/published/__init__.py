"""Releases whose claims do not hold, as papers and careless code make them: to be refuted."""
