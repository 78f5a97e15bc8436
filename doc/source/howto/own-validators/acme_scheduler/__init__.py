"""A package with a scheduler filter of ACME's, and the extra specs that it reads."""
