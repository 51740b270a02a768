"""What the data say of the paper's claims."""
