"""The names and parameters that other packages use do not change."""

import inspect
import pkgutil

import pytest

from senlin_affinity.constraints import base

#: The path of each function or class below ``senlin_affinity``, and its parameters in order.
SIGNATURES = {
    'api.Question': 'count flavor server_group policy profile availability_zone member_of spread'
    ' image_properties is_volume_booted project_id enabled_filters options explicit_options image'
    ' scheduler_hints',
    'api.fetch': 'connection question timeout',
    'api.load': 'path largest',
    'api.plan_workload': 'requests view constraints remedies',
    'api.save': 'view path',
    'api.answer': 'question view constraints remedies',
    'api.run': 'question connection constraints remedies timeout',
    'api.drain': 'hosts view targets question constraints',
    'testing.check': 'constraint question view',
    'model.member_of.MemberOf.parse': 'values',
    'model.member_of.MemberOf.admits': 'self aggregate_uuids',
    'model.member_of.MemberOf.to_query': 'self',
    'model.server_group.ServerGroup.from_api': 'body',
    'model.server_group.ServerGroup.free_slots': 'self members_on_host',
    'model.server_group.parse_create': 'body',
    'model.bounds.Bounds': 'lower expected upper',
    'model.verdict.Verdict': 'outcome code facts bounds',
    'nova.extra_spec_operators.match': 'value requirement',
    'nova.aggregate_metadata.check': 'extra_specs aggregates',
    'nova.provider_tree.Provider': 'uuid parent aggregates sharing',
    'nova.provider_tree.admitted': 'providers member_of suffixed',
    'nova.reservations.constrain': 'keys aggregates required_prefix forbidden_prefixes',
    'extra_specs.validate': 'name value mode',
    'extra_specs.validate_all': 'extra_specs mode',
    'policy.properties.load': 'spec',
    'cloud.snapshot_file.load': 'path',
    'cloud.snapshot_file.save': 'snapshot path',
}
ERRORS = ('InvalidSpec', 'InvalidExtraSpec', 'CloudError', 'BindingError', 'PluginError')


@pytest.mark.parametrize('path', SIGNATURES)
def test_the_parameters_of_a_contract(path):
    called = pkgutil.resolve_name(f'senlin_affinity.{path}')
    found = list(inspect.signature(called).parameters)
    wanted = SIGNATURES[path].split()
    assert [name for name in found if name in wanted] == wanted
    required = inspect.signature(called).parameters
    added = [required[name] for name in found if name not in wanted]
    assert all(each.default is not inspect.Parameter.empty for each in added), added


def test_the_errors():
    errors = pkgutil.resolve_name('senlin_affinity.model.errors')
    assert all(issubclass(getattr(errors, name), errors.AffinityError) for name in ERRORS)
    assert issubclass(errors.InvalidExtraSpec, errors.InvalidSpec)


def test_imports_of_other_packages_constraints():
    names = 'Bounds Change Constraint Domain Host Option Reason Verdict'
    assert {*names.split()} <= {*dir(base)}
