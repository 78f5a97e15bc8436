"""Convert the providers of rows, and define the forest of document 001.

Shapes: ``{'cn1': {'aggregates': ['aggA']}, 'numa1': {'parent': 'cn1'}, 'ss1': {'sharing': True}}``
"""

from collections.abc import Mapping
from typing import Any

from senlin_affinity.nova.provider_tree import Provider
from tests.support.letters import UUIDS

PICTURE = {
    'cn1': {'aggregates': ['aggA']},
    'numa1_1': {'parent': 'cn1', 'aggregates': ['aggC']},
    'numa1_2': {'parent': 'cn1'},
    'cn2': {'aggregates': ['aggB']},
    'numa2_1': {'parent': 'cn2'},
    'numa2_2': {'parent': 'cn2'},
    'ss1': {'aggregates': ['aggB'], 'sharing': True},
    'ss2': {'aggregates': ['aggC'], 'sharing': True},
}


def providers(written: Mapping[str, Any] = PICTURE) -> list[Provider]:
    """Return the providers, with their names as UUIDs."""
    return [
        Provider(
            name,
            each.get('parent'),
            frozenset(UUIDS[letter] for letter in each.get('aggregates', ())),
            each.get('sharing', False),
        )
        for name, each in written.items()
    ]
