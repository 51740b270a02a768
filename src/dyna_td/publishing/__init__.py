"""The published results, `reference/`: made, drawn again, brought back."""
