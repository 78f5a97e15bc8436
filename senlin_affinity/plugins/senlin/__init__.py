"""Provide the modules that Senlin's engines load."""
