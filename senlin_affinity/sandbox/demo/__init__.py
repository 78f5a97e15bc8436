"""The main job on the real services: clusters, their server groups, where servers land."""
