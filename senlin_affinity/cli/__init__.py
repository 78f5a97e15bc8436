"""Provide the commands ``senlin-affinity ...`` and ``openstack affinity ...``."""
