"""From YAML files to results: settings, names, plans, files, aggregation, provenance; imports no TensorFlow."""
