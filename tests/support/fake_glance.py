"""Simulate a Glance with a list of images, without I/O.

Source: https://docs.openstack.org/api-ref/image/v2/ (versions, ``GET /v2/images``).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.recordings.exchanges import Reply


@dataclass(frozen=True)
class FakeImage:
    """An image; the default id is derived from its name."""

    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    uuid: str | None = None

    @property
    def id(self) -> str:
        """Return the id."""
        return self.uuid or str(uuid.uuid5(uuid.NAMESPACE_OID, self.name))


class FakeGlance:
    """All images, and the requests except discovery."""

    def __init__(self, *images: FakeImage) -> None:
        self.images = images
        self.asked: list[str] = []

    def send(self, url: str, path: str, query: Mapping[str, str]) -> Reply:
        """Answer a GET."""
        if path in ('/', '/v2', '/v2/'):
            links = [{'rel': 'self', 'href': f'{url}/v2/'}]
            version = {'id': 'v2.9', 'status': 'CURRENT', 'links': links}
            return Reply(300, {'versions': [version]})
        self.asked.append(f'GET {path}')
        if path == '/v2/images':
            ids = query['id'].removeprefix('in:').split(',') if 'id' in query else None
            found = [
                each
                for each in self.images
                if (each.name == query['name'] if ids is None else each.id in ids)
            ]
            return Reply(200, {'images': [*map(_shown, found)]})
        for image in self.images:
            if path == f'/v2/images/{image.id}':
                return Reply(200, _shown(image))
        return Reply(404, None)


def _shown(image: FakeImage) -> dict[str, Any]:
    known = {'id': image.id, 'name': image.name, 'status': 'active', 'size': 1, 'tags': []}
    return {**known, **image.properties}
