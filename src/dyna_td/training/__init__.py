"""Training: the loop around the compiled programs, checkpoints and progress."""
