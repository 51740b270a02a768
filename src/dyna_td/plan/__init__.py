"""From the YAML files of `experiments/` to runs, their costs and choices; agents of the user's own; no TensorFlow."""
