"""What each reader gets of a decision: the hook, a tenant, an operator with a failed server."""
