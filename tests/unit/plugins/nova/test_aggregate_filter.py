"""The aggregate filter, on stand-ins for what Nova hands it; Nova's own are in ``tests/nova``."""

import logging
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import pytest

from senlin_affinity.plugins.nova import aggregate_filter
from senlin_affinity.plugins.nova.aggregate_filter import AggregateInstanceTypeFilter

#: Operators configure it: it keeps its name.
LOGGER = 'senlin_affinity.plugins.nova_filter'
ILLEGAL = {'ssd': '<or> ! <or> 1'}
FORCED = {'ssd': 'true', 'force_metadata_check': 'True'}


@pytest.fixture
def judge():
    """``host_passes`` of a new filter."""
    aggregate_filter._requirements.cache_clear()
    return AggregateInstanceTypeFilter().host_passes


@pytest.fixture
def logged(caplog):
    """What the filter logged: (level, words)."""
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


@pytest.mark.parametrize(
    ('extra_specs', 'metadata', 'passes'),
    [
        ({'ssd': '*'}, [{'ssd': 'true'}], True),
        ({'ssd': '*'}, [], False),
        ({'ssd': '<or> 1 <or> ~'}, [{}, {'rack': 'a'}], True),
        ({'aggregate_instance_extra_specs:rack': 'b'}, [{'rack': 'a'}, {'rack': 'c, b'}], True),
        ({}, [FORCED], False),
        ({'ssd': 'true'}, [FORCED, {'x': 'y'}], True),
        ({}, [], True),
    ],
)
def test_it_answers_as_the_rule_does(judge, extra_specs, metadata, passes):
    assert judge(host(*metadata), request(extra_specs)) is passes


def test_a_flavor_is_parsed_once(judge):
    asked = request({'ssd': '1', 'rack': 'a'})
    hosts = [host({'ssd': '1'}, {'rack': 'ab'[i % 2]}, name=f'h{i}') for i in range(50)]
    passed = [each.host for each in hosts if judge(each, asked)]
    assert passed == [f'h{i}' for i in range(0, 50, 2)]
    assert aggregate_filter._requirements.cache_info().misses == 1


class Unset:
    """As an object of Nova's whose fields were not loaded."""

    def __init__(self, **loaded):
        self.__dict__.update(loaded)

    def __getattr__(self, name):
        raise NotImplementedError(f"Cannot load '{name}' in the base class")


@pytest.mark.parametrize(
    'flavor', [SimpleNamespace(), Unset(), SimpleNamespace(extra_specs=None)], ids=range(3)
)
def test_extra_specs_that_were_not_loaded_are_none(judge, flavor):
    asked = SimpleNamespace(flavor=flavor)
    assert [judge(host(each), asked) for each in ({'ssd': '1'}, FORCED)] == [True, False]


class TestNamesThatAreNotThere:
    """R0-32: they are for the log, and decide nothing."""

    @pytest.mark.parametrize(
        ('kind', 'fields'),
        [
            pytest.param(SimpleNamespace, {}, id='a namespace'),
            pytest.param(Unset, {}, id='not loaded'),
            pytest.param(Mock, {}, id='a mock'),
            pytest.param(MagicMock, {}, id='a mock with all methods'),
            pytest.param(SimpleNamespace, {'name': None}, id='none'),
            pytest.param(SimpleNamespace, {'name': 5}, id='no text'),
        ],
    )
    @pytest.mark.parametrize(('value', 'passes'), [('1', True), ('2', False)])
    def test_aggregates_and_flavors(self, judge, logged, kind, fields, value, passes):
        aggregates = [kind(metadata={}, **fields), kind(metadata={'ssd': '1'}, **fields)]
        flavor = kind(extra_specs={'ssd': value}, **fields)
        state = SimpleNamespace(host='cmp-1', aggregates=aggregates)
        assert judge(state, SimpleNamespace(flavor=flavor)) is passes
        said = [words for _, words in logged()]
        assert len(said) == (0 if passes else 1)
        assert all('the flavor, host cmp-1: rejected' in words for words in said)
        assert all('the metadata of aggregate 2 is "1"' in words for words in said)

    @pytest.mark.parametrize('kind', [SimpleNamespace, Unset, Mock])
    def test_a_host_and_a_warning(self, judge, logged, kind):
        state, flavor = kind(aggregates=[kind(metadata={})]), kind(extra_specs=ILLEGAL)
        assert judge(state, SimpleNamespace(flavor=flavor)) is False
        ((level, words), _) = logged()
        assert level == 'WARNING'
        assert words.startswith('the flavor, the host: ssd is "<or> ! <or> 1"')


class TestLog:
    def test_a_rejected_host_is_a_debug_line_with_the_reason(self, judge, logged):
        assert judge(host({'ssd': '1'}), request({'ssd': '1'}))
        assert logged() == []
        for name in ('cmp-1', 'cmp-2'):
            judge(host({'ssd': '2'}, name=name), request({'ssd': '1'}))
        ((level, words), (_, more)) = logged()
        assert level == 'DEBUG'
        assert 'flavor m1.ssd, host cmp-1: rejected (aggregate_metadata.mismatch): ' in words
        assert 'agg-0' in words
        assert 'host cmp-2' in more

    def test_the_sentence_is_made_for_the_log_only(self, judge, logged, monkeypatch):
        monkeypatch.setattr(aggregate_filter, 'sentence', None)
        logging.getLogger(LOGGER).setLevel(logging.INFO)
        assert judge(host({'ssd': '2'}), request({'ssd': '1'})) is False
        assert logged() == []

    def test_r0_12_illegal_combination_is_one_warning_per_flavor(self, judge, logged):
        for name in ('cmp-1', 'cmp-2', 'cmp-3'):
            for flavor in ('m1.a', 'm1.b'):
                assert judge(host({'ssd': '1'}, name=name), request(ILLEGAL, flavor)) is False
        warnings = [words for level, words in logged() if level == 'WARNING']
        assert [words.partition(',')[0] for words in warnings] == ['flavor m1.a', 'flavor m1.b']
        assert all('<or> ! <or> 1' in words for words in warnings)
        assert [level for level, _ in logged()].count('DEBUG') == 6

    def test_q0_3_unreadable_force_is_a_warning_and_does_not_force(self, judge, logged):
        state = host({'ssd': '1', 'force_metadata_check': 'Yep'})
        assert [judge(state, request({})) for _ in range(2)] == [True, True]
        ((level, words),) = logged()
        assert level == 'WARNING'
        assert "force_metadata_check is 'Yep' in agg-0" in words

    def test_what_was_said_does_not_grow_for_ever(self, judge, monkeypatch):
        monkeypatch.setattr(aggregate_filter, '_MOST_SAID', 3)
        for number in range(10):
            judge(host({'force_metadata_check': f'x{number}'}), request({}))
            assert len(judge.__self__._said) <= 3


@pytest.mark.parametrize(
    ('state', 'asked'),
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
def test_it_fails_closed(judge, logged, caplog, state, asked):
    """R0-32: whatever happens, nothing reaches the scheduler; one traceback for each failure."""
    assert [judge(state, asked) for _ in range(2)] == [False, False]
    (first, words), (second, more) = logged()
    assert (first, second) == ('ERROR', 'DEBUG')
    assert more.startswith(f'{words}: ')
    host = f'host {state.host}' if hasattr(state, 'host') else 'the host'
    assert words == f'the aggregate filter failed, and rejects {host}'
    assert [bool(record.exc_info) for record in caplog.records] == [True, False]


def test_q0_11_flavor_extra_spec_is_a_key_like_any_other(judge):
    announced = {'flavor_extra_spec': 'True'}
    assert judge(host({**announced, 'ssd': '1'}), request({})) is True
    assert judge(host(announced), request(announced)) is True
    assert judge(host({}), request(announced)) is False
