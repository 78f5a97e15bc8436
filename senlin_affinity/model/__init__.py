"""Values that describe a request, a cloud and a verdict."""
