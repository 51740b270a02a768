"""From the YAML files of `experiments/` to runs, their costs and choices; no TensorFlow."""
