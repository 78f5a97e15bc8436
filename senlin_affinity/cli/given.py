"""Read the files that options name: specs in YAML, and the snapshot of ``--snapshot``.

Raises: InvalidSpec, which names the file (and the line of a YAML error); UsageError for a file that
cannot be read, and for names that the cloud does not have.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from senlin_affinity import api
from senlin_affinity.cli.base import UsageError
from senlin_affinity.cloud import input_file
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.suggestion import meant
from senlin_affinity.policy.group_lookup import is_keystone_id
from senlin_affinity.policy.properties import PROPERTIES

T = TypeVar('T')
#: More names of hypervisors would fill the terminal.
_MOST_NAMED = 5
#: The keys of a request or a response of Senlin that contain a spec, directly or one level below.
_WRAPPERS = ('policy', 'profile', 'spec')


def spec(path: str, reader: Callable[[Any], T]) -> T:
    """Parse the one document of a YAML (or JSON) file, and return the reader's result."""
    from senlin_affinity.cloud import strict_yaml

    try:
        document = strict_yaml.load(path)
    except OSError as error:
        raise UsageError(f'{path} cannot be read: {error.strerror}') from error
    if isinstance(document, dict) and 'format' in document and 'type' not in document:
        raise InvalidSpec('is a snapshot of a cloud, not a spec', path)
    _check_unwrapped(document, path)
    with file(path):
        return reader(document)


def stack(path: str, reader: Callable[[Any], T]) -> T:
    """Parse a file of requests, and return the reader's result.

    JSON, as Terraform writes it, may be as large as a snapshot.
    """
    from senlin_affinity.cloud import strict_yaml

    try:
        with file(path):
            data = input_file.read(path)
            document = _json(data) if data.lstrip()[:1] == b'{' else None
            if document is None:
                if len(data) > input_file.LARGEST_TEXT << 20:
                    raise InvalidSpec(f'is larger than {input_file.LARGEST_TEXT} MiB, the limit')
                document = strict_yaml.parse(data, '')
            return reader(document)
    except OSError as error:
        raise UsageError(f'{path} cannot be read: {error.strerror}') from error


def _json(data: bytearray) -> Any:
    """Return the document in JSON; None for anything else."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


@contextlib.contextmanager
def file(path: str) -> Iterator[None]:
    """Let each mistake of an InvalidSpec begin with the path of a file."""
    try:
        yield
    except InvalidSpec as error:
        mistakes = [InvalidSpec(str(each), path) for each in error.mistakes]
        raise InvalidSpec.joined(mistakes) from error


def _check_unwrapped(document: object, path: str) -> None:
    """Raise InvalidSpec if the spec is inside of another mapping, or its type has the version.

    Both are so in the requests and responses of Senlin, such as ``openstack cluster policy show``.
    """
    keys, spec = [], document
    while isinstance(spec, dict) and PROPERTIES not in spec:
        key = next((each for each in _WRAPPERS if isinstance(spec.get(each), dict | str)), None)
        if key is None:
            break
        keys.append(key)
        spec = spec[key]
    # Senlin's client shows the spec as JSON in a text.
    if keys and isinstance(spec, dict | str) and any(key in spec for key in ('type', PROPERTIES)):
        raise InvalidSpec(
            'contains the spec: write only its content (type, version, properties) into the file',
            f'{path}: {".".join(keys)}',
        )
    kind = document.get('type') if isinstance(document, dict) else None
    found = re.fullmatch(r'(\S+)-(\d+\.\d+)', kind) if isinstance(kind, str) else None
    if found is not None:
        raise InvalidSpec(
            f"must not contain the version: write type: {found[1]} and version: '{found[2]}'",
            f'{path}: type',
        )


def view(path: str, stdin: Any, largest: int | None = None) -> Cloud:
    """Load the snapshot of a file; the path ``-`` means ``stdin``.

    :param largest: the maximum size in MiB; None means 256.
    """
    if path != '-':
        return api.load(path, largest)
    from senlin_affinity.cloud import snapshot_file

    if stdin is None:
        raise UsageError('standard input is closed')
    try:
        data = input_file.all_of(stdin.buffer, largest or input_file.LARGEST)
        return snapshot_file.parse(snapshot_file.decoded(data))
    except InvalidSpec as error:
        raise InvalidSpec(str(error), 'standard input') from error


def host(view: Cloud, name: str) -> Host:
    """Return the host with this service host or hypervisor; UsageError for none, or several.

    Raise CloudError if the hosts are unknown.
    """
    known = view.hosts
    if known is None:
        raise CloudError(view.why_no_hosts())
    found = [each for each in known if each.hypervisor_hostname == name]
    found = found or [each for each in known if each.host == name]
    if len(found) == 1:
        return found[0]
    if not found:
        names = sorted({each.host for each in known})
        raise UsageError(f'there is no host {name!r}: {meant(name, names)}')
    names = [each.hypervisor_hostname for each in found][:_MOST_NAMED]
    raise UsageError(
        f'{name} has {len(found)} hypervisors: name one of them, such as {", ".join(names)}'
    )


def check_image(image: object) -> None:
    """Raise UsageError for the name of an image: a snapshot contains no images."""
    if isinstance(image, str):
        raise UsageError(
            f'--image {image}: a snapshot contains no images; use --image none, or '
            '--image-property for each property of the image'
        )


def check_ids(project: str | None, user: str | None, snapshot: Cloud) -> None:
    """Raise UsageError for a project or user that is not an id: a snapshot contains no names."""
    groups = snapshot.server_groups or ()
    members = (member for group in groups for member in group.members)
    projects = {snapshot.project_id, *(group.project_id for group in groups)}
    users = {snapshot.user_id, *(each.user_id for each in groups), *(each.user for each in members)}
    for kind, named, known in (('project', project, projects), ('user', user, users)):
        if named not in (None, *known) and not is_keystone_id(str(named)):
            raise UsageError(
                f'--{kind} {named!r} is not an id: use the id, because a snapshot contains no '
                f'names of {kind}s'
            )
