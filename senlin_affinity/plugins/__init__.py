"""Provide the modules that other services load, one package per service."""
