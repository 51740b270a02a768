"""Results as files: tables, policies, locks, where they come from, and the published ones; imports no TensorFlow."""
