"""The Snakefile's helpers beside the plan: its start and its messages."""
