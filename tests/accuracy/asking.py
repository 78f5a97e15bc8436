"""Ask the preflight a question of a case, with or without all optional input."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from senlin_affinity import api
from senlin_affinity.conf import nova_conf
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.nova.reservations import ENFORCED_BY, FORBIDDEN_PREFIXES, NOVA, REQUIRED_PREFIX
from senlin_affinity.sandbox import config_files
from tests.accuracy import timeouts
from tests.accuracy.case import Ask, Case
from tests.accuracy.stage import Stage, options_of

PREFIXES = (REQUIRED_PREFIX, FORBIDDEN_PREFIXES)


def ask(stage: Stage, case: Case, asked: Ask) -> api.Decision:
    """Return the decision about the live cloud, as the command makes it."""
    # A tenant sees no hosts; an administrator asks instead.
    nova = stage.novas[asked.by or ('admin' if asked.user == 'demo' else asked.user)]
    more = optional_input(stage, case, asked) if asked.is_complete else {}
    question = api.Question(
        asked.count,
        stage.flavors[asked.flavor],
        server_group=None if asked.group is None else stage.groups[asked.group],
        availability_zone=asked.zone,
        spread=asked.spread,
        project_id=stage.project_id(asked.user),
        profile=_profile(asked.metadata) if asked.metadata else None,
        scheduler_hints=stage.hints(asked.hints),
        user_id=stage.user_id(asked.user) if asked.is_user_named else None,
        host=asked.host,
        **more,
    )
    view = api.fetch(nova.connection, question)
    for why in view.unavailable.values():
        timeouts.check(why)
    first = api.answer(question, view, remedies=False)
    return api.answer(question, api.with_leftovers(nova.connection, view, first))


def _profile(items: int) -> dict[str, Any]:
    """Return a profile whose servers have this number of metadata items, with the 3 of Senlin."""
    metadata = dict.fromkeys(map(str, range(items - 3)), 'x')
    return {'type': 'os.nova.server', 'version': '1.0', 'properties': {'metadata': metadata}}


def optional_input(stage: Stage, case: Case, asked: Ask) -> dict[str, Any]:
    """Return the image, and the options of nova.conf as read from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'nova.conf'
        config_files.write(path, options_of(case))
        read = nova_conf.read([str(path)], load_constraints())
    # This project has its own options for these settings.
    given = case.nova_options.get('scheduler', {})
    prefixes = {each.key: given[each.dest] for each in PREFIXES if each.dest in given}
    ours = {**prefixes, ENFORCED_BY.key: NOVA} if prefixes else {}
    return {
        'image': stage.cloud.image_id if asked.image is None else stage.images[asked.image],
        'enabled_filters': read.filters,
        'options': {**read.values, **ours},
        'explicit_options': read.keys | ours.keys(),
    }
