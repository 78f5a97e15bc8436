"""How Sphinx makes the manual ("make docs")."""

from importlib import metadata
from pathlib import Path

from docutils import nodes
from dulwich import errors, repo

project = 'senlin-affinity'
copyright = 'the senlin-affinity developers'
author = 'the senlin-affinity developers'
# Without the commit that a checkout adds.
version = release = metadata.version('senlin-affinity').partition('+')[0]

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
exclude_patterns = ['*/*-table.rst', 'admin/reliability-results.rst']

# A chapter lists its pages by glob, and may be empty.
suppress_warnings = ['toc.empty_glob']

nitpicky = False
autodoc_member_order = 'bysource'
autodoc_typehints = 'description'

# reno reads the notes out of git's history. Without it (in an archive, or a shallow clone), the
# manual has no page of them.
try:
    HAS_HISTORY = not repo.Repo.discover(str(Path(__file__).parent)).get_shallow()
except errors.NotGitRepository:
    HAS_HISTORY = False
if not HAS_HISTORY:
    extensions.remove('reno.sphinxext')
    exclude_patterns.append('release_notes.rst')
    suppress_warnings.append('toc.excluded')


def name_the_untagged_version(app, doctree):
    """Call it what setup.cfg does: to reno, a history without tags is 0.0.0."""
    if app.env.docname == 'release_notes':
        for title in doctree.findall(nodes.title):
            if title.astext() == '0.0.0':
                title[:] = [nodes.Text(release)]


def setup(app):
    """Change the title before Sphinx collects it."""
    app.connect('doctree-read', name_the_untagged_version, priority=1)
