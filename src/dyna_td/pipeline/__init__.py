"""The Snakefile's helpers beside the plan: its start, its lock, and its messages."""
