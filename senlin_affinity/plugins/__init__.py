"""What other services load, one module per service."""
