"""Asks the preflight as its users do, told everything that there is to tell, or nothing.

Data flow: an :class:`Ask` of a case becomes a question of ``senlin_affinity.api``, which looks at
the live cloud and answers.
"""

from __future__ import annotations

from typing import Any

from senlin_affinity import api
from senlin_affinity.conf import opts
from senlin_affinity.conf.installed import load_constraints
from tests.accuracy.case import Ask, Case
from tests.accuracy.stage import Stage


def ask(stage: Stage, case: Case, asked: Ask) -> api.Decision:
    """What is said."""
    # A plain user sees no hosts: for him, an administrator asks.
    nova = stage.novas['admin' if asked.user == 'demo' else asked.user]
    more = told(stage, case, asked) if asked.is_told else {}
    question = api.Question(
        asked.count,
        stage.flavors[asked.flavor],
        None if asked.group is None else stage.groups[asked.group],
        availability_zone=asked.zone,
        project_id=stage.project_id(asked.user),
        **more,
    )
    return api.answer(question, api.look(nova.connection, question))


def told(stage: Stage, case: Case, asked: Ask) -> dict[str, Any]:
    """The image, the filters, and all options of nova.conf that a constraint reads."""
    image = {} if asked.image is None else case.images[asked.image]
    known = ('name', 'min_ram', 'min_disk')
    properties = {key: value for key, value in image.items() if key not in known}
    options = [option for option in opts.options_of(load_constraints()) if option.nova]
    values = {option.dest: case.nova_options.get(option.nova, {}) for option in options}
    return {
        'image_properties': properties,
        'enabled_filters': case.filters,
        'options': {name: group[name] for name, group in values.items() if name in group},
        'told': frozenset(option.key for option in options),
    }
