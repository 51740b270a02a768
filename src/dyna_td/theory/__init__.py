"""The theory in numbers: hitting times (Theorem 2), densities (Theorem 3), and errors that cross zero."""
