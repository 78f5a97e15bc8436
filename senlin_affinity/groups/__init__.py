"""The life cycle of server groups: attach, detach, adoption and audit."""
