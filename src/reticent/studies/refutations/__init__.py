"""Claims that fall: published or careless mechanisms, each refuted by an audit, beside a sound one.

Every measured bound is for every mechanism and wrong with probability 10⁻⁶ at most.
"""
