"""From YAML files to runs: plans, files, locks, costs, policies, provenance; imports no TensorFlow."""
