"""Results as files: tables, policies, where they come from, and the published ones; imports no TensorFlow."""
