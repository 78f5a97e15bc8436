"""The flow of document 001 in Nova's request filters, with Nova's own objects and database."""

import logging
import uuid
from pathlib import Path

import pytest
from nova import context as nova_context
from nova import objects
from nova.conf import CONF
from nova.db.api import api as database
from nova.db.api import models
from nova.exception import RequestFilterFailed
from nova.scheduler import filters, request_filter
from nova.scheduler.host_manager import HostState

from senlin_affinity.model.errors import PluginError
from senlin_affinity.plugins.nova import request_filter as nova_request_filter
from senlin_affinity.plugins.nova.aggregate_filter import AggregateInstanceTypeFilter
from senlin_affinity.plugins.nova.request_filter import install, keep_reservations

PAGE = Path(__file__).parents[2] / 'doc/source/howto/reservations.rst'
PATH = f'{nova_request_filter.__name__}.install'
AGGREGATES = {
    'pool': {'reservation:f3a9': 'x'},
    'mine': {'reservation:r1': '1'},
    'too': {'reservation:r1': 'another value', 'ssd': 'true'},
    'theirs': {'reservation:r2': '1'},
    'windows': {'trait:CUSTOM_WIN': 'required'},
    'upper': {'RESERVATION:r1': '1'},
    'plain': {'ssd': 'true'},
}
IDS = {name: str(uuid.uuid5(uuid.NAMESPACE_OID, name)) for name in AGGREGATES}
RESERVED = {'pool', 'mine', 'too', 'theirs'}


@pytest.fixture(scope='module', autouse=True)
def _database(api_database):
    _fill(nova_context.get_admin_context())


@database.context_manager.writer
def _fill(context):
    for number, (name, metadata) in enumerate(AGGREGATES.items(), start=1):
        context.session.add(models.Aggregate(id=number, uuid=IDS[name], name=name))
        context.session.flush()
        for key, value in metadata.items():
            context.session.add(models.AggregateMetadata(aggregate_id=number, key=key, value=value))


@pytest.fixture
def prefixes():
    """Install the filter with these options: ``prefixes(required, *forbidden)``."""
    kept = list(request_filter.ALL_REQUEST_FILTERS)
    install()
    assert [*kept, keep_reservations] == request_filter.ALL_REQUEST_FILTERS

    def set_options(required='reservation:', *forbidden, is_of_flavors=False):
        values = (required, list(forbidden), is_of_flavors)
        for option, value in zip(nova_request_filter.OPTIONS, values, strict=True):
            CONF.set_override(option.dest, value, 'scheduler')

    yield set_options
    for option in nova_request_filter.OPTIONS:
        CONF.clear_override(option.dest, 'scheduler')
    request_filter.ALL_REQUEST_FILTERS[:] = kept


def request(*keys, image=None, **more):
    flavor = objects.Flavor(
        name='m1.tiny', vcpus=1, memory_mb=64, root_gb=1, ephemeral_gb=0, swap=0,
        extra_specs=dict.fromkeys(keys, 'x'),
    )  # fmt: skip
    if image is not None:
        properties = objects.ImageMetaProps.from_dict(image)
        more['image'] = objects.ImageMeta(properties=properties)
    return objects.RequestSpec(flavor=flavor, is_bfv=False, **more)


def kept(spec):
    """Return the names of the aggregates in ``member_of``: (required sets, forbidden ones)."""
    assert keep_reservations(nova_context.get_admin_context(), spec) is True
    if 'requested_destination' not in spec or spec.requested_destination is None:
        return [], set()
    names = {found: name for name, found in IDS.items()}
    asked = spec.requested_destination
    required = [{names[each] for each in text.split(',')} for text in asked.aggregates or ()]
    return required, {names[each] for each in asked.forbidden_aggregates or ()}


BOTH = ('reservation:', 'reservation:')
WIN = {'trait:CUSTOM_WIN': 'required'}


@pytest.mark.parametrize(
    ('options', 'keys', 'image', 'required', 'forbidden'),
    [
        (BOTH, '', None, [], RESERVED),
        (BOTH, 'hw:x', {}, [], RESERVED),
        (BOTH, 'reservation:r1', {}, [{'mine', 'too'}], set()),
        # Nova has dropped this key of the image.
        (BOTH, '', {'reservation:r1': '1'}, [], RESERVED),
        (('reservation:',), '', {}, [], set()),
        (('reservation:',), 'reservation:r2 reservation:r1', {},
         [{'mine', 'too'}, {'theirs'}], set()),
        (('', 'reservation:'), 'reservation:r9', {}, [], set()),
        ((None, 'trait:CUSTOM_'), '', {}, [], {'windows'}),
        ((None, 'trait:CUSTOM_'), '', WIN, [], set()),
        ((None, 'trait:CUSTOM_'), '', {'trait:CUSTOM_WIN': 'no'}, [], {'windows'}),
        (('trait:',), '', WIN, [{'windows'}], set()),
        ((None, 'reservation:', 'ss'), 'ssd', {}, [], RESERVED),
        # Nothing is a wildcard.
        ((None, 'reserva_ion:', '%'), '', {}, [], set()),
    ],
)  # fmt: skip
def test_r1_30_the_query_to_placement(prefixes, options, keys, image, required, forbidden):
    prefixes(*options)
    assert kept(request(*keys.split(), image=image)) == (required, forbidden)


def test_two_reservations_are_two_parameters(prefixes, caplog):
    """Nova may set no destination, or None."""
    prefixes(*BOTH)
    caplog.set_level(logging.INFO)
    spec = request('reservation:r2', 'reservation:r1', requested_destination=None)
    assert kept(spec) == ([{'mine', 'too'}, {'theirs'}], set())
    either = ','.join(sorted([IDS['mine'], IDS['too']]))
    values = sorted([f'in:{either}', IDS['theirs']])
    assert f'flavor m1.tiny: member_of={values[0]}&member_of={values[1]}' in caplog.text


def test_requirements_of_novas_own_filters_are_preserved(prefixes):
    """A requested destination is also preserved."""
    prefixes('reservation:', 'trait:')
    wanted = objects.Destination(host='cmp-1')
    wanted.require_aggregates([IDS['plain']])
    wanted.append_forbidden_aggregates({IDS['upper']})
    spec = request('reservation:r2', requested_destination=wanted)
    assert kept(spec) == ([{'plain'}, {'theirs'}], {'upper', 'windows'})
    assert spec.requested_destination.host == 'cmp-1'


def test_q1_03_a_reservation_that_no_aggregate_has(prefixes):
    prefixes('reservation:', 'reservation:')
    with pytest.raises(RequestFilterFailed, match="no aggregate carries .* 'reservation:r9'"):
        keep_reservations(nova_context.get_admin_context(), request('reservation:r9'))


@pytest.mark.parametrize(
    ('options', 'more', 'passes'),
    [
        (BOTH, {}, True),
        (('reservation:',), {'force_metadata_check': 'True'}, True),
        (('', 'reservation:'), {}, True),
        # Nothing reserves by prefixes here, so document 000 alone decides.
        ((None,), {}, False),
        (('other:', 'other:'), {}, False),
    ],
)
def test_the_aggregate_filter_leaves_reservations_to_it(prefixes, options, more, passes):
    """The value of a reservation does not matter, with both plugins enabled."""
    prefixes(*options)
    states = [HostState(name, name, None) for name in ('cmp-1', 'cmp-2')]
    metadata = {'reservation:r1': 'x', **more}
    for state in states:
        state.aggregates = [objects.Aggregate(name='mine', metadata=metadata)]
    spec = request('reservation:r1', image={})
    spec.flavor.extra_specs = {'reservation:r1': '1'}
    judge = AggregateInstanceTypeFilter()
    assert judge.host_passes(states[0], spec) is passes
    assert list(judge.filter_all(states, spec)) == (states if passes else [])


def test_without_a_prefix_the_query_is_unchanged(prefixes):
    prefixes(None, '')
    spec = request('reservation:r1')
    assert keep_reservations(None, spec) is False  # nor is the database
    assert 'requested_destination' not in spec


def test_q1_05_an_option_of_nova_conf_installs_it(prefixes, caplog):
    """Nova loads it by its path, once or more, gets no host filter, and runs it."""
    prefixes('reservation:', 'reservation:')
    caplog.set_level(logging.INFO)
    loaded = filters.HostFilterHandler().get_matching_classes([PATH, PATH])
    assert loaded == []
    assert f'   available_filters = {PATH}\n' in PAGE.read_text(encoding='utf-8')
    assert request_filter.ALL_REQUEST_FILTERS.count(keep_reservations) == 1
    assert "required prefix 'reservation:', forbidden prefixes ('reservation:',)" in caplog.text
    spec = request('reservation:r2', image={}, force_hosts=['cmp-1'], requested_resources=[])
    request_filter.ALL_REQUEST_FILTERS[:] = [keep_reservations]
    request_filter.process_reqspec(nova_context.get_admin_context(), spec)
    assert f'flavor m1.tiny: member_of={IDS["theirs"]}' in caplog.text


@pytest.mark.parametrize(
    ('options', 'image', 'required', 'forbidden'),
    [
        ((None, 'trait:CUSTOM_'), WIN, [], {'windows'}),
        (('trait:',), WIN, [], set()),
        (('reservation:', 'reservation:'), WIN, [], RESERVED),
    ],
)
def test_keys_of_flavors_only(prefixes, options, image, required, forbidden):
    """An image, which any user may create, gives no access; a flavor of the operator does."""
    prefixes(*options, is_of_flavors=True)
    assert kept(request(image=image)) == (required, forbidden)
    prefixes('trait:', 'trait:', is_of_flavors=True)
    assert kept(request('trait:CUSTOM_WIN', image={})) == ([{'windows'}], set())


@pytest.mark.parametrize(
    ('options', 'is_of_flavors', 'is_warned'),
    [
        (('trait:CUSTOM_', 'reservation:'), False, True),
        (('', 'reservation:', 'trait:'), False, True),
        (('tr',), False, True),
        (('trait:CUSTOM_', 'trait:CUSTOM_'), True, False),
        (('reservation:', 'reservation:'), False, False),
    ],
)
def test_a_prefix_of_traits_causes_a_warning(prefixes, caplog, options, is_of_flavors, is_warned):
    prefixes(*options, is_of_flavors=is_of_flavors)
    caplog.clear()
    install()
    assert ('any user who may create an image' in caplog.text) is is_warned


def test_a_line_without_options_is_said(prefixes, caplog):
    prefixes(None, '')
    assert install() == []
    assert 'no prefix is set in [scheduler], so nothing is reserved' in caplog.text


@pytest.mark.parametrize('options', [('reservation:',), ('', 'reservation:')])
def test_one_prefix_is_enough(prefixes, options, caplog, monkeypatch):
    """The aggregates are read once, before Nova serves requests."""
    prefixes(*options)
    caplog.set_level(logging.INFO)
    install()
    assert 'reservations: required prefix ' in caplog.text
    monkeypatch.setattr(models, 'AggregateMetadata', None)
    with pytest.raises(PluginError, match='reservations cannot be enforced'):
        install()


@pytest.mark.parametrize(
    ('thing', 'name', 'value', 'why'),
    [
        (request_filter, 'ALL_REQUEST_FILTERS', None, 'not iterable'),
        (request_filter, 'process_reqspec', lambda context, spec: None, 'does not run'),
        (request_filter, 'process_reqspec', lambda: None, 'positional'),
        (objects.Destination, 'append_forbidden_aggregates', id, 'takes no'),
    ],
)
def test_another_nova_does_not_start(monkeypatch, thing, name, value, why):
    """Rather than that reserved hosts are open to everybody."""
    monkeypatch.setattr(thing, name, value)
    with pytest.raises(PluginError, match=f'reservations cannot be enforced: .*{why}.*remove'):
        install()
