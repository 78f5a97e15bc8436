"""How Sphinx makes the manual ("make docs")."""

from importlib import metadata

project = 'senlin-affinity'
copyright = 'the senlin-affinity developers'
author = 'the senlin-affinity developers'
version = release = metadata.version('senlin-affinity')

extensions = [
    'cliff.sphinxext',
    'oslo_config.sphinxext',
    'reno.sphinxext',
    'senlin_affinity.sphinx_ext',
    'sphinx.ext.autodoc',
]

# The theme of OpenStack's own manuals would load scripts and counters from their servers.
html_theme = 'alabaster'
html_theme_options = {'description': 'Where servers may go, and why', 'fixed_sidebar': True}
html_sidebars = {'**': ['about.html', 'navigation.html', 'searchbox.html']}

# Included by a page, and not a page of its own.
exclude_patterns = ['admin/in-tree-table.rst', 'user/accuracy-table.rst']

# A chapter lists its pages by glob, and may be empty.
suppress_warnings = ['toc.empty_glob']
nitpicky = False
autodoc_member_order = 'bysource'
autodoc_typehints = 'description'
