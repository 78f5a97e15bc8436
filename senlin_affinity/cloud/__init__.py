"""Adapters over openstacksdk: the only package that imports it for a cloud's sake."""
