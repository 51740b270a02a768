"""What people read: the generated parts of README and docs, and the report."""
