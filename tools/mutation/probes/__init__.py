"""What the product prints, as one table of numbers: ε, δ, scales, sensitivities, bounds, costs.

Each module fills in the figures of one part of the package. All of it is deterministic: noise is
drawn from one fixed key.
"""
