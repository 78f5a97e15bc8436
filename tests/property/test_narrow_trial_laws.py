"""What an owner reads by few hosts is what a trial shows: what others have on them changes nothing.

The trials are counted here, from the figures that the cloud is made of, and not by the planner.
"""

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.cloud import cloud_view, narrow
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.preflight import hook, lower_bound
from tests.property.test_narrow_laws import A_HOST, A_QUESTION, OWNER, SELDOM, SIZES, cloud_of

ZONES = ('az1', 'az2', 'nova')
#: No server gets onto a host with so little of something; and more than anybody asks for.
FULL, AMPLE = ((0, 9, 9), (9, 0, 9), (9, 9, 0), (0, 0, 0)), ((99, 99, 99), (60, 400, 70))
CLOSED = st.fixed_dictionaries({'free': st.sampled_from(FULL), 'is_disabled': st.booleans()})
#: What an owner does not see of a host that takes servers.
THEIRS = st.fixed_dictionaries(
    {
        'used': st.booleans(),
        'is_theirs': SELDOM,
        'is_nested': SELDOM,
        'kind': st.sampled_from(['QEMU', 'QEMU', 'QEMU', 'VMware vCenter Server']),
    }
)
NAMES = st.from_regex('[a-z]{1,3}-[0-9]{1,3}', fullmatch=True)


def room(has, number, asked, size, zone):
    """So many servers get onto a host, whatever group they are of."""
    is_closed = (
        has['is_disabled']
        or asked['down'] == number
        or (asked['is_rare'] and not has['is_rare'])
        or asked['disk'] not in (None, has['disk'])
        or zone not in (None, has['zone'])
    )
    ram, vcpus, disk = size
    cpus, memory, gigabytes = has['free']
    return 0 if is_closed else min(cpus // vcpus, 512 * memory // ram, gigabytes // disk)


def left(asked, size, members):
    """So many of the servers the quotas leave, in a group that has some."""
    ram, vcpus, _disk = size
    each = {'maxTotalCores': vcpus, 'maxTotalRAMSize': ram}
    used = {'maxServerGroupMembers': members}
    rooms = (
        (limit - used.get(name, 0)) // each.get(name, 1)
        for name, limit in asked['limits'].items()
        if limit >= 0
    )
    return min([asked['count'], *(max(0, number) for number in rooms)])


def shown(hosts, asked):
    """What trying shows: how many come up, as it is and with one thing of one's own changed."""
    places = [place % len(hosts) for place in asked['members']]
    same = {'policy': asked['policy'], 'most': asked['most'], 'zone': asked['zone'], 'held': places}

    def count(size=SIZES[0], **more):
        own = {**same, **more}
        held = own['held']
        rooms = [room(has, number, asked, size, own['zone']) for number, has in enumerate(hosts)]
        if own['policy'] == 'affinity':
            found = sum(rooms[place] for place in {*held}) if held else max(rooms)
        elif own['policy'] == 'anti-affinity':
            slots = [max(0, own['most'] - held.count(number)) for number in range(len(hosts))]
            found = sum(map(min, rooms, slots))
        else:
            found = sum(rooms)
        return min(found, left(asked, size, len(held)))

    yield count()
    yield count(held=())
    yield from (count(policy='soft', held=held) for held in (places, ()))
    yield from (count(size) for size in sorted(asked['flavors']))
    if asked['policy'] == 'anti-affinity':
        yield from (count(most=most, held=()) for most in range(1, asked['count'] + 5))
    if asked['zone'] is not None:
        yield from (count(zone=zone) for zone in (None, *ZONES))
        yield tuple(sorted({has['zone'] for has in hosts}))


@st.composite
def others(draw, hosts, asked):
    """The same for the owner, with other hosts, or more or less on them that is not the owner's."""
    is_wild = draw(SELDOM)
    found = [draw(changed(has, number, asked, is_wild)) for number, has in enumerate(hosts)]
    for has, closed in draw(st.lists(st.tuples(A_HOST, CLOSED), max_size=4)):
        found.append({**has, **closed, 'zone': draw(st.sampled_from(hosts))['zone']})
    names = draw(st.lists(NAMES, min_size=len(found), max_size=len(found), unique=True))
    order = draw(st.permutations(range(len(found))))
    down = asked['down']
    more = {
        'members': [order.index(place % len(hosts)) for place in asked['members']],
        'down': None if down is None or down >= len(hosts) else order.index(down),
        'lost': draw(st.sampled_from([None, 0, 1])),
        'cut': draw(st.sampled_from([None, None, len(found)])),
        'spare': draw(st.sampled_from([2, 2, 10])),
    }
    return [{**found[number], 'name': names[number]} for number in order], {**asked, **more}


@st.composite
def changed(draw, has, number, asked, is_wild):
    """A host of which others use more or less; unless ``is_wild``, where no trial may show it."""
    if is_wild:
        wild = draw(A_HOST)
        return {**has, **{key: wild[key] for key in draw(st.sets(st.sampled_from(sorted(wild))))}}
    more = draw(THEIRS)
    if not asked['is_rare']:
        more['is_rare'] = draw(st.booleans())
    if asked['disk'] is None:
        more['disk'] = draw(st.sampled_from(['ssd', 'hdd', None]))
    rooms = [room(has, number, asked, size, None) for size in (SIZES[0], *asked['flavors'])]
    if min(rooms) >= asked['count']:
        more['free'] = draw(st.sampled_from([has['free'], *AMPLE]))
    return {**has, **more, **({} if any(rooms) else draw(CLOSED))}


def said_of(hosts, asked):
    """What the owner is told."""
    cloud, scale_request = cloud_of(hosts, asked)
    with cloud, mock.patch.object(lower_bound, 'SPARE', asked['spare']):
        both = Clients(
            OwnerClient(cloud.connection(OWNER)), OperatorClient(cloud.connection('admin'))
        )
        needed = hook.scope_of(scale_request)
        view = narrow.see(both, needed).view or cloud_view.fetch(both, needed)
        return hook.decide(scale_request, view).answer


@settings(max_examples=settings.default.max_examples // 10)
@given(st.lists(A_HOST, min_size=1, max_size=10), A_QUESTION, st.data())
def test_where_trials_show_the_same_few_hosts_say_the_same(hosts, asked, data):
    said = {}
    for cloud in ((hosts, asked), *(data.draw(others(hosts, asked)) for _ in range(3))):
        answer = said_of(*cloud)
        assert said.setdefault(tuple(shown(*cloud)), answer) == answer
