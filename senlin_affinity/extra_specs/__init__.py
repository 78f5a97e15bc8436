"""What a flavor may ask for in its extra specs, and how that is checked."""
