"""Install an example package of the manual into a separate folder."""

import shutil
import subprocess
import sys


def install(example, tmp_path_factory):
    """Install only the package, and return its folder."""
    source, target = tmp_path_factory.mktemp('source'), tmp_path_factory.mktemp('target')
    shutil.copytree(example, source / 'package')
    options = ['--quiet', '--no-deps', '--no-build-isolation', '--no-index', '--target', target]
    command = [sys.executable, '-m', 'pip', 'install', *options, source / 'package']
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return target
