"""What the rules about aggregates are made of: their metadata, their names, whom they are for."""
