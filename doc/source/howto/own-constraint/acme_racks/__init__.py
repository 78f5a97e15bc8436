"""Rules of ACME's about racks."""
