"""The theory in numbers: the hitting times of Theorem 2, and errors that cross zero (Theorem 3)."""
