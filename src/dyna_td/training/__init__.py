"""Training: the compiled programs, the loop around them, checkpoints and progress."""
