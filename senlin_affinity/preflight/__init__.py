"""Decide before servers are created whether they fit, and limit what a tenant learns."""
