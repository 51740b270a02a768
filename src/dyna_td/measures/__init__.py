"""What is measured of an agent or computed from the theory: sampling distributions, the frozen Q, Theorems 2 and 3."""
