"""What the affinity policy is, free of any engine."""
