"""Evaluate requests: one constraint per module, which an entry point registers."""
