"""Formulas as papers print them. None of them mints more than the grade *published*."""
