"""The published results, `reference/`: made, drawn again, compared, and kept through changes of code."""
