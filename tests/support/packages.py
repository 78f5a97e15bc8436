"""Simulate installed packages with extra spec validators."""

import sys
from functools import cache
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest
from stevedore import ExtensionManager

from senlin_affinity.extra_specs import registry


@pytest.fixture
def install(monkeypatch):
    """Return a function that installs a package, e.g. ``install('acme', VALIDATORS)``."""
    groups = {group: [] for group in (*registry.GROUPS, registry.NOVA_GROUP, registry.READERS)}
    monkeypatch.setattr(ExtensionManager, 'ENTRY_POINT_CACHE', groups)
    monkeypatch.setattr(registry, '_kept', cache(registry._kept.__wrapped__))

    def install_one(name, source=None, group=registry.GROUPS[0], target=None):
        module = ModuleType(name)
        module.VALIDATORS = source
        monkeypatch.setitem(sys.modules, name, module)
        entry_point = EntryPoint(name, target or f'{name}:VALIDATORS', group)
        groups[group].append(entry_point)
        return entry_point

    return install_one
