"""Provide the modules that nova-scheduler and nova-api load."""
