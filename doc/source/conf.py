"""How Sphinx makes the manual ("make docs")."""

import sys
from importlib import metadata
from pathlib import Path

from docutils import nodes
from dulwich import errors, repo

project = 'senlin-affinity'
copyright = 'the senlin-affinity developers'
author = 'the senlin-affinity developers'
# Without the commit that a checkout adds.
version = release = metadata.version('senlin-affinity').partition('+')[0]

# The directives of the manual itself.
sys.path.insert(0, str(Path(__file__).parents[1] / 'ext'))

extensions = [
    'cliff.sphinxext',
    'life_cycle',
    'oslo_config.sphinxext',
    'reference_tables',
    'reno.sphinxext',
    'senlin_affinity.sphinx_ext',
    'sphinx.ext.autodoc',
    'sphinxcontrib.svgbob',
]

html_theme = 'furo'
html_title = f'senlin-affinity {release}'
html_static_path = ['static']
html_css_files = ['manual.css']
# Most blocks are commands and their output.
highlight_language = 'console'

# Included by a page, and not a page of its own.
exclude_patterns = [
    '*/*-table.rst',
    'trust/reliability-results.rst',
    'contribute/decisions/[0f]*.rst',
]

# Python's names in signatures belong to other manuals, which a build without a network cannot read.
nitpicky = True
nitpick_ignore_regex = [('py:.*', '.*')]
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
    exclude_patterns.append('contribute/release_notes.rst')
    suppress_warnings = ['toc.excluded']


def name_the_untagged_version(app, doctree):
    """Call it what setup.cfg does: to reno, a history without tags is 0.0.0."""
    if app.env.docname == 'contribute/release_notes':
        for title in doctree.findall(nodes.title):
            if title.astext() == '0.0.0':
                title[:] = [nodes.Text(release)]


def setup(app):
    """Change the title before Sphinx collects it."""
    app.connect('doctree-read', name_the_untagged_version, priority=1)
