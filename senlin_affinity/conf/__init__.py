"""Options for oslo.config, Nova's configuration files, and the paths of installed files."""
