"""The commands: ``senlin-affinity ...``, and ``openstack affinity ...``."""
