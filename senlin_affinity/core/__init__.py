"""What is true, without a cloud: pure rules from a snapshot to a verdict."""
