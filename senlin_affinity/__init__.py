"""Decide where new servers may run, and explain why."""
