"""The affinity policy without an engine: its spec, its profile, its data."""
