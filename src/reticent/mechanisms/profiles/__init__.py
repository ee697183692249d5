"""The exact privacy of each kind of noise, as functions of its shift a = sensitivity/scale.

Each module offers ``delta``, ``epsilon``, ``shift`` (calibration), ``rdp`` and ``zcdp``; the
formulas are derived in docs/theory.md, section A. Nothing here knows of data or of sampling.
"""
