"""Count the servers that a cloud takes by placing them one after the other.

The count shares no code with the planner: an independent, slow oracle for small clouds without
unknown parts.
"""


def count(request, snapshot):
    """Return the largest number of servers that fit, whichever host Nova would choose first."""
    group = snapshot.server_groups[0] if snapshot.server_groups else None
    starts = [host.host for host in snapshot.hosts]
    if group is None or group.policy != 'affinity' or group.members:
        return _fill(request, snapshot, group, starts)
    return max(_fill(request, snapshot, group, [start]) for start in starts)


def _fill(request, snapshot, group, allowed):
    flavor = snapshot.flavors[0]
    disk = 0 if request.is_volume_booted else flavor.disk
    amounts = {'VCPU': flavor.vcpus, 'MEMORY_MB': flavor.ram, 'DISK_GB': disk}
    amounts['CUSTOM_GPU'] = int(flavor.extra_specs.get('resources:CUSTOM_GPU', 0))
    free = {
        host.host: {name: has.capacity - has.used for name, has in host.resources.items()}
        for host in snapshot.hosts
    }
    members = [] if group is None else [member.host for member in group.members]
    placed = 0
    while _is_within_quotas(snapshot.quotas, flavor, members, placed, group):
        candidates = [
            host
            for host in snapshot.hosts
            if host.host in allowed
            and _takes(host, request, flavor, group, members)
            and all(_has_free(host, free, name, amount) for name, amount in amounts.items())
        ]
        if not candidates:
            break
        chosen = candidates[0].host
        for name, amount in amounts.items():
            if amount:
                free[chosen][name] -= amount
        members.append(chosen)
        placed += 1
    return placed


def _is_within_quotas(quotas, flavor, members, placed, group):
    """Return whether the quotas allow one more server."""
    needed = {'instances': placed + 1, 'cores': (placed + 1) * flavor.vcpus}
    needed |= {'ram': (placed + 1) * flavor.ram}
    if group is not None:
        needed['server_group_members'] = len(members) + 1
    known = {name: quota for name, quota in quotas.items() if quota.limit is not None}
    return all(
        (quota.used or 0) + needed[name] <= quota.limit
        for name, quota in known.items()
        if name in needed
    )


def _takes(host, request, flavor, group, members):
    """Return whether the constraints allow one more server on this host."""
    if not host.enabled or not host.up or 'fenced' in host.aggregates:
        return False
    if request.availability_zone not in (None, host.availability_zone):
        return False
    for key, word in flavor.extra_specs.items():
        kind, _colon, name = key.partition(':')
        if kind == 'trait' and (name in host.traits) != (word == 'required'):
            return False
    if group is None:
        return True
    if group.policy == 'anti-affinity':
        return members.count(host.host) < group.rules.get('max_server_per_host', 1)
    if group.policy == 'affinity':
        return not members or host.host in members
    return True


def _has_free(host, free, name, amount):
    """Return whether Placement would allocate this amount."""
    if not amount:
        return True
    has = host.resources.get(name)
    if has is None or free[host.host][name] < amount or amount % has.step_size:
        return False
    return has.max_unit is None or amount <= has.max_unit
