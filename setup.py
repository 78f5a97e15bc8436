"""Set what differs between builds: the version, and the directory for staging.

See doc/source/contribute/decisions/0021-version-in-setup-cfg.rst.
"""

import atexit
import configparser
import email
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import setuptools

ROOT = Path(__file__).resolve().parent


def git(*arguments: str) -> bytes:
    """Return the output of a git command in this checkout; ignore GIT_* variables."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith('GIT_')}
    command = ['git', '-C', str(ROOT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


def version() -> str:
    """Return the version of setup.cfg, with the commit if it is not that of a release.

    Example::

        an archive, or a checkout of tag 0.9.1        0.9.1
        any other commit                              0.9.1+g1a2b3c4d5e6f
        the same with changes not committed yet       0.9.1+g1a2b3c4d5e6f.d5c0ffee1
        an sdist                                      its own version
        a checkout that git cannot read               0.9.1+unknown
    """
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg', encoding='utf-8')
    release = parser['metadata']['version']
    if (ROOT / '.git').exists():
        try:
            return release + commit(release)
        except (OSError, subprocess.CalledProcessError):
            return f'{release}+unknown'
    if (ROOT / 'PKG-INFO').exists():
        return email.message_from_string((ROOT / 'PKG-INFO').read_text('utf-8'))['Version']
    return release


def commit(release: str) -> str:
    """Return the local version of a checkout; '' for the commit of the release without changes."""
    changes = git('diff', 'HEAD', '--binary', '--no-ext-diff', '--no-textconv', '--no-color')
    untracked = git('ls-files', '--others', '--exclude-standard', '-z').decode().split('\0')
    contents = hashlib.sha256(changes)
    for name in filter(None, untracked):
        path = ROOT / name
        contents.update(name.encode() + (path.read_bytes() if path.is_file() else b''))
    if changes or any(untracked):
        dirty = f'.d{contents.hexdigest()[:8]}'
    elif release in git('tag', '--points-at', 'HEAD').decode().split():
        return ''
    else:
        dirty = ''
    return f'+g{git("rev-parse", "HEAD").decode()[:12]}{dirty}'


# setuptools copies the package to build/lib, and packs everything there, also files of earlier
# builds. So each build has a directory of its own.
staged = tempfile.mkdtemp(prefix='senlin-affinity-build-')
atexit.register(shutil.rmtree, staged, ignore_errors=True)
setuptools.setup(version=version(), options={'build': {'build_base': staged}})
