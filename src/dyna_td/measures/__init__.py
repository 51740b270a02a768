"""Measurements of agents, and the theory in numbers: sampling distributions, the final Q, Theorems 2 and 3."""
