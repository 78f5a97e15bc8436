"""The built packages of the project, with and without git, and an installed wheel."""

import ast
import configparser
import email
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / 'setup.cfg', encoding='utf-8')
VERSION = SETUP['metadata']['version']
CONSTRAINTS = ROOT / 'constraints.txt'
#: The build backend out of the same constraints; which of the two counts depends on pip's version.
PIP = {f'PIP_{kind}': str(CONSTRAINTS) for kind in ('CONSTRAINT', 'BUILD_CONSTRAINT')}
SDIST = f'senlin_affinity-{VERSION}.tar.gz'
#: A command with its continuation lines, and its output.
FIRST_COMMAND = r'    \$ (senlin-affinity (?:.*\\\n)*.*)\n((?:    .*\n|\n)*)'
#: Among the files that an earlier build left.
STALE = 'senlin_affinity/left_by_an_earlier_build.py'
SOURCES = ('clone', 'shallow-clone', 'archive', 'sdist')
#: The author of commits that only the test sees.
AUTHOR = ('-c', 'user.name=test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false')


def run(*command, cwd):
    """Run a command without the caller's settings of git, Python and the cloud."""
    told = ('GIT_', 'OS_', 'PBR_', 'PYTHON')
    clean = {key: value for key, value in os.environ.items() if not key.startswith(told)}
    done = subprocess.run(
        [str(word) for word in command],
        env={**clean, **PIP, 'COLUMNS': '76'},  # the README is indented by four
        cwd=cwd, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def output_of(*command, cwd):
    status, output, errors = run(*command, cwd=cwd)
    assert status == 0, output + errors
    return output


@pytest.fixture(scope='module')
def origin(tmp_path_factory):
    """Return a repository with the files of this checkout, committed or not, and some history."""
    folder = tmp_path_factory.mktemp('origin')
    git = ('git', f'--git-dir={folder}', f'--work-tree={ROOT}', *AUTHOR)
    output_of(*git, 'init', '--quiet', cwd=ROOT)
    output_of(*git, 'commit', '--quiet', '--allow-empty', '--message=first', cwd=ROOT)
    output_of(*git, 'add', '--all', cwd=ROOT)
    output_of(*git, 'commit', '--quiet', '--message=second', cwd=ROOT)
    return folder


@pytest.fixture(scope='module')
def tracked(origin):
    listed = ('git', f'--git-dir={origin}', 'ls-tree', '-r', '--name-only', 'HEAD')
    names = output_of(*listed, cwd=origin)
    return set(names.splitlines()) - {'PKG-INFO'}  # which is there if this is an unpacked sdist


@pytest.fixture(scope='module')
def sources(origin, tmp_path_factory):
    """Return the folders that a wheel is built from, by name."""
    top = tmp_path_factory.mktemp('sources')
    output_of('git', 'clone', '--quiet', origin, 'clone', cwd=top)
    output_of('git', 'clone', '--quiet', '--depth=1', f'file://{origin}', 'shallow-clone', cwd=top)
    archive = ('archive', '--output=archive.tar', '--prefix=archive/', 'HEAD')
    output_of('git', f'--git-dir={origin}', *archive, cwd=top)
    shutil.unpack_archive(top / 'archive.tar', top)
    build = 'from setuptools import build_meta; build_meta.build_sdist("..")'
    output_of(sys.executable, '-c', build, cwd=top / 'archive')
    shutil.unpack_archive(top / SDIST, top)
    (top / f'senlin_affinity-{VERSION}').rename(top / 'sdist')
    return {name: top / name for name in SOURCES}


@pytest.fixture(scope='module')
def wheels(sources, tmp_path_factory):
    top = tmp_path_factory.mktemp('wheels')
    for name, folder in sources.items():
        stale = folder / 'build/lib' / STALE
        stale.parent.mkdir(parents=True, exist_ok=True)
        stale.touch()
        # From the sdist as users do, with the backend that pip finds by pyproject.toml.
        how = [folder.with_name(SDIST)]
        if name != 'sdist':
            how = ['--no-index', '--no-build-isolation', folder]
        pip_wheel = (sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir')
        output_of(*pip_wheel, top / name, *how, cwd=top)
    built = {name: list((top / name).iterdir()) for name in sources}
    assert [name for name in built if len(built[name]) != 1] == []
    return {name: wheel for name, (wheel,) in built.items()}


def pip(prefix):
    return sys.executable, '-m', 'pip', '--python', prefix / 'bin/python'


def version_of(wheel):
    return wheel.name.split('-')[1]


def contents(wheel):
    """Return the hash of each file but RECORD, as if the wheel were that of the release."""
    version = version_of(wheel)
    with zipfile.ZipFile(wheel) as opened:
        read = {name: opened.read(name) for name in opened.namelist()}
    return {
        name.replace(version, VERSION): hashlib.sha256(
            text.replace(version.encode(), VERSION.encode())
        ).hexdigest()
        for name, text in read.items()
        if not name.endswith('.dist-info/RECORD')
    }


@pytest.mark.parametrize('source', SOURCES)
def test_the_wheel_is_equal_from_every_source_except_its_version(wheels, source):
    assert contents(wheels[source]) == contents(wheels['clone'])


def test_the_version_of_a_checkout_names_its_commit(wheels, sources):
    commit = output_of('git', 'rev-parse', 'HEAD', cwd=sources['clone'])[:12]
    assert {name: version_of(wheel) for name, wheel in wheels.items()} == {
        'clone': f'{VERSION}+g{commit}',
        'shallow-clone': f'{VERSION}+g{commit}',
        'archive': VERSION,
        'sdist': VERSION,
    }


class TestVersion:
    """The version that setup.py prints for a checkout in every state."""

    @pytest.fixture
    def checkout(self, origin, tmp_path):
        output_of('git', 'clone', '--quiet', origin, tmp_path / 'checkout', cwd=tmp_path)
        return tmp_path / 'checkout'

    def version(self, checkout):
        return output_of(sys.executable, 'setup.py', '--version', cwd=checkout).strip()

    def test_it_changes_with_each_commit_and_each_change(self, checkout):
        seen = [self.version(checkout)]
        for text in ('a', 'b'):
            with (checkout / 'README.rst').open('a', encoding='utf-8') as readme:
                readme.write(text)
            seen.append(self.version(checkout))
        for text in ('a', 'b'):
            (checkout / 'senlin_affinity/added.py').write_text(text, encoding='utf-8')
            seen.append(self.version(checkout))
        output_of('git', 'add', '--all', cwd=checkout)
        output_of('git', *AUTHOR, 'commit', '--quiet', '--message=third', cwd=checkout)
        seen.append(self.version(checkout))
        assert len(set(seen)) == len(seen)
        assert [each for each in seen if not each.startswith(f'{VERSION}+g')] == []
        assert self.version(checkout) == seen[-1]

    def test_a_tagged_commit_has_the_version_of_the_release(self, checkout):
        output_of('git', 'tag', VERSION, cwd=checkout)
        assert self.version(checkout) == VERSION
        (checkout / 'README.rst').write_text('changed', encoding='utf-8')
        assert self.version(checkout) != VERSION

    def test_an_sdist_of_a_checkout_keeps_its_version(self, checkout, tmp_path):
        build = 'from setuptools import build_meta; build_meta.build_sdist("..")'
        wanted = self.version(checkout)
        output_of(sys.executable, '-c', build, cwd=checkout)
        shutil.unpack_archive(tmp_path / f'senlin_affinity-{wanted}.tar.gz', tmp_path)
        assert self.version(tmp_path / f'senlin_affinity-{wanted}') == wanted

    def test_a_checkout_that_git_cannot_read_does_not_have_the_release(self, checkout):
        (checkout / '.git/HEAD').unlink()
        assert self.version(checkout) == f'{VERSION}+unknown'


def test_a_build_does_not_use_or_change_generated_files(wheels, sources):
    packed = [name for name, wheel in wheels.items() if STALE in contents(wheel)]
    assert packed == []
    left = {path.name for path in (sources['clone'] / 'build').rglob('*') if path.is_file()}
    assert left == {Path(STALE).name}


def test_the_wheel_contains_the_package_and_the_files_of_etc(wheels, tracked):
    data, facts = (f'senlin_affinity-{VERSION}.{kind}/' for kind in ('data', 'dist-info'))
    wanted = {name for name in tracked if name.startswith('senlin_affinity/')}
    wanted |= {f'{data}data/{name}' for name in tracked if name.startswith('etc/')}
    assert {name for name in contents(wheels['archive']) if not name.startswith(facts)} == wanted


#: Modules that only Nova, Senlin and Sphinx load, and those that need the extra ``sandbox``.
OTHERS = ('sandbox/', 'sphinx_ext', 'plugins/nova/', 'plugins/senlin/')


def imported(wheel, leaving_out=()):
    """Return the top-level modules that the package imports, without its own and the standard
    library.
    """
    left_out = tuple(f'senlin_affinity/{name}' for name in leaving_out)
    found = set()
    with zipfile.ZipFile(wheel) as opened:
        for name in opened.namelist():
            if name.endswith('.py') and not name.startswith(left_out):
                for node in ast.walk(ast.parse(opened.read(name))):
                    if isinstance(node, ast.Import):
                        found |= {alias.name.partition('.')[0] for alias in node.names}
                    elif isinstance(node, ast.ImportFrom) and not node.level:
                        found.add(node.module.partition('.')[0])
    return found - set(sys.stdlib_module_names) - {'senlin_affinity'}


def required(wheel, extra='none'):
    """Return the distributions that the wheel requires, and those of one of its extras."""
    with zipfile.ZipFile(wheel) as opened:
        (path,) = (name for name in opened.namelist() if name.endswith('.dist-info/METADATA'))
        facts = email.message_from_bytes(opened.read(path))
    lines = (line.partition(';') for line in facts.get_all('Requires-Dist'))
    return {
        normal(re.match(r'[\w.-]+', needed)[0])
        for needed, _, marker in lines
        if 'extra ==' not in marker or f"extra == '{extra}'" in marker.replace('"', "'")
    }


def normal(name):
    """Return the normalized name of a distribution."""
    return re.sub('[-_.]+', '-', name).lower()


def test_the_wheel_requires_exactly_its_imports(wheels):
    """The test environment has more packages."""
    wheel, owners = wheels['archive'], metadata.packages_distributions()
    needed, used = required(wheel), imported(wheel, ['sandbox/'])
    of_module = {name: {normal(each) for each in owners.get(name, ())} for name in used}
    known = required(wheel, 'fast') | required(wheel, 'metrics')
    lacking = {name for name in imported(wheel, OTHERS) if not of_module[name] & known}
    # Where Nova runs, and on the hosts of engines (plugins/senlin/log).
    assert lacking - {'nova', 'sqlalchemy'} == set()
    assert needed - set().union(*of_module.values()) == set()


def test_the_sdist_contains_every_file_of_the_repository(sources, tracked):
    folder = sources['sdist']
    names = {str(path.relative_to(folder)) for path in folder.rglob('*') if path.is_file()}
    made = ('PKG-INFO', 'build/', 'senlin_affinity.egg-info/')
    assert {name for name in names if not name.startswith(made)} == tracked


@pytest.mark.parametrize(
    ('source', 'has_notes'), [('clone', True), ('shallow-clone', False), ('archive', False)]
)
def test_the_manual_has_release_notes_if_git_has_them(sources, source, has_notes, tmp_path):
    sphinx = (sys.executable, '-m', 'sphinx', '-W', '-q', '-b', 'text', 'doc/source', tmp_path)
    output_of(*sphinx, cwd=sources[source])
    page = tmp_path / 'contribute/release_notes.txt'
    assert page.exists() == has_notes
    if has_notes:
        assert f'\n{VERSION}\n' in page.read_text(encoding='utf-8')


class TestInstalled:
    """In a clean environment with exactly the wheel's requirements."""

    @pytest.fixture(scope='class')
    def prefix(self, wheels, tmp_path_factory):
        top = tmp_path_factory.mktemp('installed')
        output_of(sys.executable, '-m', 'venv', '--without-pip', top / 'venv', cwd=top)
        output_of(*pip(top / 'venv'), 'install', '--quiet', wheels['sdist'], cwd=top)
        return top / 'venv'

    def test_pip_finds_nothing_broken(self, prefix):
        assert output_of(*pip(prefix), 'check', cwd=prefix) == 'No broken requirements found.\n'

    def test_the_command_has_help_and_knows_its_version(self, prefix):
        command = prefix / 'bin/senlin-affinity'
        output = output_of(command, '--help', cwd=prefix)
        assert output.startswith('usage: senlin-affinity ')
        assert '\n  plan  ' in output
        assert output_of(command, '--version', cwd=prefix) == f'senlin-affinity {VERSION}\n'

    def test_the_first_command_of_the_readme_has_the_shown_output(self, prefix):
        """The example for it is installed, too."""
        readme = (ROOT / 'README.rst').read_text(encoding='utf-8')
        line, shown = re.search(FIRST_COMMAND, readme).groups()
        program, *arguments = shlex.split(line.replace('\\\n', ''))
        status, output, errors = run(prefix / 'bin' / program, *arguments, cwd=prefix)
        assert (status, errors) == (3, '')
        assert output.strip() == textwrap.dedent(shown).strip()

    def test_every_entry_point_loads_except_those_of_its_service(self, prefix):
        code = (
            'import json, sys; from importlib import metadata\n'
            'points, lacking = metadata.distribution("senlin-affinity").entry_points, {}\n'
            'for each in points:\n'
            '    try:\n'
            '        each.load()\n'
            '        assert sys.modules[each.module].__file__.startswith(sys.prefix), each\n'
            '    except ModuleNotFoundError as error:\n'
            '        lacking[each.group] = error.name\n'
            'found = [(each.group, each.name, each.value) for each in points]\n'
            'print(json.dumps([found, lacking]))\n'
        )
        found, lacking = json.loads(output_of(prefix / 'bin/python', '-c', code, cwd=prefix))
        of_senlin, of_nova = {'senlin.policies': 'senlin'}, 'microversion_parse'
        assert lacking == {**of_senlin, 'paste.filter_factory': of_nova}
        assert sorted(found) == sorted(
            [group, *(word.strip() for word in line.split('=', 1))]
            for group, lines in SETUP['options.entry_points'].items()
            for line in lines.strip().splitlines()
        )

    def test_the_command_and_etc_are_installed_and_found(self, prefix):
        code = (
            'from senlin_affinity.conf import files\n'
            'print(files.example("policies/anti-affinity.yaml"))\n'
        )
        path = prefix / 'etc/senlin-affinity/policies/anti-affinity.yaml'
        assert output_of(prefix / 'bin/python', '-c', code, cwd=prefix) == f'{path}\n'
        (facts,) = prefix.glob('lib/python*/site-packages/senlin_affinity-*.dist-info')
        beside = {
            os.path.relpath(facts.parent / line.rpartition(',')[0].rpartition(',')[0], prefix)
            for line in (facts / 'RECORD').read_text(encoding='utf-8').splitlines()
            if not line.startswith(('senlin_affinity/', f'{facts.name}/'))
        }
        assert beside == {'bin/senlin-affinity'} | {
            str(path.relative_to(ROOT)) for path in (ROOT / 'etc').rglob('*') if path.is_file()
        }
