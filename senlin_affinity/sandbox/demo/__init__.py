"""Demonstrate the policy on the real services: clusters, server groups, and placement."""
