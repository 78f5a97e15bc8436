"""Decide before servers are created: which facts are needed, and what a tenant may learn."""
