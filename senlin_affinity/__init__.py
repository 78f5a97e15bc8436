"""Decides where the new servers of a cluster may go, and can say why."""
