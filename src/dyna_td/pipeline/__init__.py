"""What the Snakefile needs beside the plan: its start, its lock, and what a person sees of it."""
