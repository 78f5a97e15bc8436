"""The aggregate filter works on stand-ins for Nova's objects; ``tests/nova`` uses real ones."""

import logging
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import pytest

from senlin_affinity.plugins.nova import aggregate_filter
from senlin_affinity.plugins.nova.aggregate_filter import AggregateInstanceTypeFilter

#: A stable name, because operators configure it.
LOGGER = 'senlin_affinity.plugins.nova_filter'
ILLEGAL = {'ssd': '<or> ! <or> 1'}
FORCED = {'ssd': 'true', 'force_metadata_check': 'True'}


@pytest.fixture
def host_passes():
    """Return ``host_passes`` of a new filter."""
    aggregate_filter._requirements.cache_clear()
    return AggregateInstanceTypeFilter().host_passes


@pytest.fixture
def logged(caplog):
    """Return a function that returns the filter's log as (level, message)."""
    caplog.set_level(logging.DEBUG, LOGGER)
    return lambda: [
        (record.levelname, record.getMessage())
        for record in caplog.records
        if record.name == LOGGER
    ]


def host(*aggregates, name='cmp-1'):
    named = [SimpleNamespace(name=f'agg-{n}', metadata=each) for n, each in enumerate(aggregates)]
    return SimpleNamespace(host=name, aggregates=named)


def request(extra_specs, name='m1.ssd'):
    return SimpleNamespace(flavor=SimpleNamespace(name=name, extra_specs=extra_specs))


class Unset:
    """An object like Nova's with fields that are not loaded."""

    def __init__(self, **loaded):
        self.__dict__.update(loaded)

    def __getattr__(self, name):
        raise NotImplementedError(f"Cannot load '{name}' in the base class")


@pytest.mark.parametrize(
    'flavor', [SimpleNamespace(), Unset(), SimpleNamespace(extra_specs=None)], ids=range(3)
)
def test_extra_specs_that_are_not_loaded_are_empty(host_passes, flavor):
    request_spec = SimpleNamespace(flavor=flavor)
    assert [host_passes(host(each), request_spec) for each in ({'ssd': '1'}, FORCED)] == [
        True,
        False,
    ]


class TestMissingNames:
    """R0-32: names are only for the log."""

    @pytest.mark.parametrize(
        ('kind', 'fields'),
        [
            pytest.param(SimpleNamespace, {}, id='a namespace'),
            pytest.param(Unset, {}, id='not loaded'),
            pytest.param(Mock, {}, id='a mock'),
            pytest.param(MagicMock, {}, id='a mock with all methods'),
            pytest.param(SimpleNamespace, {'name': None}, id='null'),
            pytest.param(SimpleNamespace, {'name': 5}, id='a number'),
        ],
    )
    @pytest.mark.parametrize(('value', 'passes'), [('1', True), ('2', False)])
    def test_aggregates_and_flavors_may_lack_names(
        self, host_passes, logged, kind, fields, value, passes
    ):
        aggregates = [kind(metadata={}, **fields), kind(metadata={'ssd': '1'}, **fields)]
        flavor = kind(extra_specs={'ssd': value}, **fields)
        state = SimpleNamespace(host='cmp-1', aggregates=aggregates)
        assert host_passes(state, SimpleNamespace(flavor=flavor)) is passes
        messages = [message for _, message in logged()]
        assert len(messages) == (0 if passes else 1)
        assert all('the flavor, host cmp-1: rejected' in message for message in messages)
        assert all('the metadata of aggregate 2 has "1"' in message for message in messages)

    @pytest.mark.parametrize('kind', [SimpleNamespace, Unset, Mock])
    def test_a_warning_needs_no_names(self, host_passes, logged, kind):
        state, flavor = kind(aggregates=[kind(metadata={})]), kind(extra_specs=ILLEGAL)
        assert host_passes(state, SimpleNamespace(flavor=flavor)) is False
        ((level, message), _) = logged()
        assert level == 'WARNING'
        assert message.startswith('the flavor, the host: ssd is "<or> ! <or> 1"')


class TestLog:
    def test_a_rejection_is_logged_with_its_reason_at_debug(self, host_passes, logged):
        assert host_passes(host({'ssd': '1'}), request({'ssd': '1'}))
        assert logged() == []
        for name in ('cmp-1', 'cmp-2'):
            host_passes(host({'ssd': '2'}, name=name), request({'ssd': '1'}))
        ((level, message), (_, debug_message)) = logged()
        assert level == 'DEBUG'
        assert 'flavor m1.ssd, host cmp-1: rejected (aggregate_metadata.mismatch): ' in message
        assert 'agg-0' in message
        assert 'host cmp-2' in debug_message

    def test_the_sentence_is_composed_only_for_the_log(self, host_passes, logged, monkeypatch):
        monkeypatch.setattr(aggregate_filter, 'sentence', None)
        logging.getLogger(LOGGER).setLevel(logging.INFO)
        assert host_passes(host({'ssd': '2'}), request({'ssd': '1'})) is False
        assert logged() == []

    def test_r0_12_illegal_combination_is_one_warning_per_flavor(self, host_passes, logged):
        for name in ('cmp-1', 'cmp-2', 'cmp-3'):
            for flavor in ('m1.a', 'm1.b'):
                assert host_passes(host({'ssd': '1'}, name=name), request(ILLEGAL, flavor)) is False
        warnings = [message for level, message in logged() if level == 'WARNING']
        assert [message.partition(',')[0] for message in warnings] == ['flavor m1.a', 'flavor m1.b']
        assert all('<or> ! <or> 1' in message for message in warnings)
        assert [level for level, _ in logged()].count('DEBUG') == 6

    def test_q0_3_unreadable_force_is_a_warning_and_does_not_force(self, host_passes, logged):
        state = host({'ssd': '1', 'force_metadata_check': 'Yep'})
        assert [host_passes(state, request({})) for _ in range(2)] == [True, True]
        ((level, message),) = logged()
        assert level == 'WARNING'
        assert "force_metadata_check is 'Yep' in agg-0" in message

    def test_the_set_of_logged_warnings_is_bounded(self, host_passes, monkeypatch):
        monkeypatch.setattr(aggregate_filter, '_MOST_SAID', 3)
        for number in range(10):
            host_passes(host({'force_metadata_check': f'x{number}'}), request({}))
            assert len(host_passes.__self__._said) <= 3


@pytest.mark.parametrize(
    ('state', 'request_spec'),
    [
        (SimpleNamespace(host='cmp-1'), request({})),
        (SimpleNamespace(host='cmp-1', aggregates=None), request({})),
        (object(), request({})),
        (host({'ssd': '1'}), SimpleNamespace()),
        (host({'ssd': '1'}), None),
        (host(None), request({})),
        (host({'ssd': '1'}), request({'ssd': '1', 5: '1'})),
    ],
    ids=range(7),
)
def test_a_failure_rejects_the_host(host_passes, logged, caplog, state, request_spec):
    """R0-32: no exception reaches the scheduler; each failure is logged with one traceback."""
    assert [host_passes(state, request_spec) for _ in range(2)] == [False, False]
    (first, message), (second, debug_message) = logged()
    assert (first, second) == ('ERROR', 'DEBUG')
    assert debug_message.startswith(f'{message}: ')
    host = f'host {state.host}' if hasattr(state, 'host') else 'the host'
    assert message == f'the aggregate filter failed, and rejects {host}'
    assert [bool(record.exc_info) for record in caplog.records] == [True, False]


def test_q0_11_flavor_extra_spec_is_a_key_like_any_other(host_passes):
    announced = {'flavor_extra_spec': 'True'}
    assert host_passes(host({**announced, 'ssd': '1'}), request({})) is True
    assert host_passes(host(announced), request(announced)) is True
    assert host_passes(host({}), request(announced)) is False
