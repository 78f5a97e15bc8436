"""Describe a cloud as columns, the cloud after changes, and the conditions on its hosts."""
