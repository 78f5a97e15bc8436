"""One rule per module, each declaring its reason codes; found by entry point."""
