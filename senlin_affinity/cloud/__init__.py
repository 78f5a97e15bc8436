"""Adapters between openstacksdk and the ports of ``model``, and snapshot files."""
