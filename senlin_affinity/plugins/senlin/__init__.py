"""What Senlin's engines load."""
