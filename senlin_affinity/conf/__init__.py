"""Options for oslo.config, and where the installed files are."""
