"""The aggregate filter, on stand-ins for what Nova hands it; Nova's own are in ``tests/nova``."""

import logging
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import pytest

from senlin_affinity.plugins import nova_filter
from senlin_affinity.plugins.nova_filter import AggregateInstanceTypeFilter

LOGGER = 'senlin_affinity.plugins.nova_filter'
ILLEGAL = {'ssd': '<or> ! <or> 1'}


@pytest.fixture(autouse=True)
def fresh():
    nova_filter._judge.cache_clear()
    nova_filter._requirements.cache_clear()


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


class Flavor:
    """As with Nova's, ``in`` says whether an attribute was loaded."""

    def __init__(self, name, **loaded):
        self.name = name
        self.__dict__.update(loaded)

    def __contains__(self, attribute):
        return attribute in self.__dict__


def request(extra_specs, name='m1.ssd'):
    return SimpleNamespace(flavor=Flavor(name, extra_specs=extra_specs))


def test_it_is_asked_once_per_request_and_not_for_a_rebuild():
    assert AggregateInstanceTypeFilter.run_filter_once_per_request is True
    assert AggregateInstanceTypeFilter.RUN_ON_REBUILD is False


@pytest.mark.parametrize(
    ('extra_specs', 'metadata', 'passes'),
    [
        ({'ssd': '*'}, [{'ssd': 'true'}], True),
        ({'ssd': '*'}, [], False),
        ({'ssd': '<or> 1 <or> ~'}, [{}, {'rack': 'a'}], True),
        ({'aggregate_instance_extra_specs:rack': 'b'}, [{'rack': 'a'}, {'rack': 'c, b'}], True),
        ({}, [{'ssd': 'true', 'force_metadata_check': 'True'}], False),
        ({'ssd': 'true'}, [{'ssd': 'true', 'force_metadata_check': 'True'}, {'x': 'y'}], True),
        ({}, [], True),
    ],
)
def test_it_answers_as_the_rule_does(extra_specs, metadata, passes):
    judge = AggregateInstanceTypeFilter()
    assert judge.host_passes(host(*metadata), request(extra_specs)) is passes


@pytest.mark.parametrize('flavor', [Flavor('m1.tiny'), Flavor('m1.tiny', extra_specs=None)])
def test_flavor_without_extra_specs(flavor):
    judge, asked = AggregateInstanceTypeFilter(), SimpleNamespace(flavor=flavor)
    assert judge.host_passes(host({'ssd': 'true'}), asked) is True
    forced = host({'ssd': 'true', 'force_metadata_check': 'True'})
    assert judge.host_passes(forced, asked) is False


def test_hosts_of_the_same_aggregates_are_decided_once():
    judge, asked = AggregateInstanceTypeFilter(), request({'ssd': '1', 'rack': 'a'})
    hosts = [host({'ssd': '1'}, {'rack': 'ab'[i % 2]}, name=f'h{i}') for i in range(50)]
    passed = [each.host for each in hosts if judge.host_passes(each, asked)]
    assert passed == [f'h{i}' for i in range(0, 50, 2)]
    assert nova_filter._judge.cache_info().misses == 2
    assert nova_filter._requirements.cache_info().misses == 1


class Unset:
    """As an object of Nova's whose fields were not loaded."""

    def __init__(self, **loaded):
        self.__dict__.update(loaded)

    def __getattr__(self, name):
        raise NotImplementedError(f"Cannot load '{name}' in the base class")


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
    def test_aggregates_and_flavors(self, logged, kind, fields, value, passes):
        aggregates = [kind(metadata={}, **fields), kind(metadata={'ssd': '1'}, **fields)]
        flavor = kind(extra_specs={'ssd': value}, **fields)
        state = SimpleNamespace(host='cmp-1', aggregates=aggregates)
        judge = AggregateInstanceTypeFilter()
        assert judge.host_passes(state, SimpleNamespace(flavor=flavor)) is passes
        said = [words for _, words in logged()]
        assert len(said) == (0 if passes else 1)
        assert all('the flavor, host cmp-1: rejected' in words for words in said)
        assert all('the metadata of aggregate 2 is "1"' in words for words in said)

    @pytest.mark.parametrize('kind', [SimpleNamespace, Unset, Mock])
    def test_a_host_and_a_warning(self, logged, kind):
        state, flavor = kind(aggregates=[kind(metadata={})]), kind(extra_specs=ILLEGAL)
        judge = AggregateInstanceTypeFilter()
        assert judge.host_passes(state, SimpleNamespace(flavor=flavor)) is False
        ((level, words), _) = logged()
        assert level == 'WARNING'
        assert words.startswith('the flavor, the host: ssd is "<or> ! <or> 1"')

    @pytest.mark.parametrize('kind', [SimpleNamespace, Unset])
    def test_extra_specs_that_were_not_loaded_are_none(self, kind):
        judge, asked = AggregateInstanceTypeFilter(), SimpleNamespace(flavor=kind())
        assert judge.host_passes(host({'ssd': '1'}), asked) is True
        forced = host({'ssd': '1', 'force_metadata_check': 'True'})
        assert judge.host_passes(forced, asked) is False


class TestLog:
    def test_a_rejected_host_is_a_debug_line_with_the_reason(self, logged):
        judge = AggregateInstanceTypeFilter()
        judge.host_passes(host({'ssd': '2'}), request({'ssd': '1'}))
        judge.host_passes(host({'ssd': '2'}, name='cmp-2'), request({'ssd': '1'}))
        ((level, words), (_, more)) = logged()
        assert level == 'DEBUG'
        assert 'flavor m1.ssd, host cmp-1: rejected (aggregate_metadata.mismatch): ' in words
        assert 'ssd' in words
        assert 'agg-0' in words
        assert 'host cmp-2' in more

    def test_a_host_that_passes_is_not_logged(self, logged):
        AggregateInstanceTypeFilter().host_passes(host({'ssd': '1'}), request({'ssd': '1'}))
        assert logged() == []

    def test_the_sentence_is_made_for_the_log_only(self, logged, monkeypatch):
        monkeypatch.setattr(nova_filter, 'sentence', None)
        logging.getLogger(LOGGER).setLevel(logging.INFO)
        judge = AggregateInstanceTypeFilter()
        assert judge.host_passes(host({'ssd': '2'}), request({'ssd': '1'})) is False
        assert logged() == []

    def test_r0_12_illegal_combination_is_one_warning_per_flavor(self, logged):
        judge = AggregateInstanceTypeFilter()
        for name in ('cmp-1', 'cmp-2', 'cmp-3'):
            for flavor in ('m1.a', 'm1.b'):
                asked = request(ILLEGAL, flavor)
                assert judge.host_passes(host({'ssd': '1'}, name=name), asked) is False
        warnings = [words for level, words in logged() if level == 'WARNING']
        assert [words.partition(',')[0] for words in warnings] == ['flavor m1.a', 'flavor m1.b']
        assert all('<or> ! <or> 1' in words for words in warnings)
        assert [level for level, _ in logged()].count('DEBUG') == 6

    def test_q0_3_unreadable_force_is_a_warning_and_does_not_force(self, logged):
        judge, state = (
            AggregateInstanceTypeFilter(),
            host({'ssd': '1', 'force_metadata_check': 'Yep'}),
        )
        assert judge.host_passes(state, request({})) is True
        assert judge.host_passes(state, request({})) is True
        ((level, words),) = logged()
        assert level == 'WARNING'
        assert "force_metadata_check is 'Yep' in agg-0" in words

    def test_what_was_said_does_not_grow_for_ever(self, monkeypatch):
        monkeypatch.setattr(nova_filter, '_MOST_SAID', 3)
        judge = AggregateInstanceTypeFilter()
        for number in range(10):
            judge.host_passes(host({'force_metadata_check': f'x{number}'}), request({}))
            assert len(judge._said) <= 3


class TestFailure:
    """R0-32: whatever happens, nothing reaches the scheduler, and the host is rejected."""

    @pytest.mark.parametrize(
        ('state', 'asked'),
        [
            (SimpleNamespace(host='cmp-1'), request({})),
            (SimpleNamespace(host='cmp-1', aggregates=None), request({})),
            (object(), request({})),
            (host({'ssd': '1'}), SimpleNamespace()),
            (host({'ssd': '1'}), None),
            (host(None), request({})),
            (host({'ssd': ['1']}), request({})),
        ],
    )
    def test_it_fails_closed(self, logged, state, asked):
        judge = AggregateInstanceTypeFilter()
        assert judge.host_passes(state, asked) is False
        ((level, words),) = logged()
        assert level == 'ERROR'
        assert 'and rejects ' in words

    def test_a_failure_has_one_traceback(self, logged, caplog):
        judge = AggregateInstanceTypeFilter()
        for name in ('cmp-1', 'cmp-2'):
            judge.host_passes(SimpleNamespace(host=name), request({}))
        first, second = caplog.records
        assert (first.levelname, second.levelname) == ('ERROR', 'DEBUG')
        assert first.exc_info
        assert 'cmp-2: AttributeError' in second.getMessage()


def test_q0_11_flavor_extra_spec_is_a_key_like_any_other():
    judge = AggregateInstanceTypeFilter()
    announced = {'flavor_extra_spec': 'True'}
    assert judge.host_passes(host({**announced, 'ssd': '1'}), request({})) is True
    assert judge.host_passes(host(announced), request(announced)) is True
    assert judge.host_passes(host({}), request(announced)) is False
