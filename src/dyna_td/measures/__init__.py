"""Measurements of agents: sampling distributions, and the final Q with its chains."""
