"""``policy validate``: is a policy's spec right, and does the cloud have what it names?

Data flow: the file becomes properties; in a cloud, its zone and aggregates are looked up, what an
attach would do about the server group is found by reading only, and with ``--profile`` the extra
specs of its flavor are checked.

Units: exit statuses are 0 (right), 3 (not), 1 (the cloud could not be asked), 2 (usage).
"""

from __future__ import annotations

import argparse

from senlin_affinity.cli import base, given, servers_view
from senlin_affinity.core import spread
from senlin_affinity.core.errors import InvalidSpec, PolicyMismatch
from senlin_affinity.policy import affinity, flavor, matching, profile, properties

_NOT_ASKED = 'not asked (name a cloud with --os-cloud)'


class ValidatePolicy(base.ShowOne):
    """Check the spec of an affinity policy, and with a cloud what it names there."""

    invalid_spec_status = 3

    def _add_arguments(self, add: base.Add) -> None:
        add('file', metavar='FILE', help='a policy spec, YAML or JSON')
        add('--profile', metavar='FILE', help='the spec of the profile that its cluster will have')
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Read, check, and tell what the policy will do."""
        wanted = given.spec(parsed_args.file, properties.load)

        def read_profile(spec: object) -> tuple[str | None, ...]:
            applicable = profile.check_applicable(spec)
            profile.check_zone(applicable, wanted.spread)
            note = profile.zone_note(applicable, wanted.spread)
            return profile.group_hint(applicable), profile.flavor(applicable), note

        hint, wanted_flavor, note = None, None, profile.zone_note({}, wanted.spread)
        if parsed_args.profile:
            hint, wanted_flavor, note = given.spec(parsed_args.profile, read_profile)
        rules = ', '.join(f'{key}: {value}' for key, value in (wanted.rules or {}).items())
        is_chosen = wanted.pins_hosts or wanted.is_drs_enabled
        facts = {
            'spec': f'{properties.TYPE} {wanted.version}: valid',
            'server group': hint or wanted.server_group_name or '(one of its own for each cluster)',
            'policy': wanted.policy,
            'rules': rules or '(none)',
            'availability zone': wanted.availability_zone or '(any)',
            'DRS extension': 'on' if wanted.is_drs_enabled else 'off',
            'extra specs': wanted.extra_specs,
            'member_of': ' and '.join(wanted.member_of) or '(any aggregates)',
            'spread': ' and '.join(map(servers_view.in_words, wanted.spread)) or '(none)',
            'hosts': 'chosen by the policy' if is_chosen else "chosen by Nova's scheduler",
            'in the cloud': self._ask_cloud(wanted, hint, wanted_flavor, parsed_args.timeout),
        }
        notes = [each for each in (spread.hint(wanted.spread), note) if each]
        if notes:
            facts['note'] = '; '.join(notes)
        return tuple(facts), tuple(facts.values())

    def _ask_cloud(
        self,
        wanted: properties.Properties,
        hint: str | None,
        wanted_flavor: str | None,
        timeout: float | None,
    ) -> str:
        if not self.has_cloud():
            return _NOT_ASKED
        from senlin_affinity.cloud import eyes
        from senlin_affinity.cloud.connection import ports

        cloud = ports(eyes.of(self.connection(timeout)), timeout)
        affinity.validate(wanted, cloud.inventory)
        of_flavor = flavor.check(wanted, wanted_flavor, cloud.inventory)
        of_flavor = f'; {of_flavor}' if of_flavor else ''
        affinity.member_of(wanted, cloud.inventory, cloud.candidates)
        exists = f'zone {wanted.availability_zone} exists; ' if wanted.availability_zone else ''
        exists += 'the aggregates exist; ' if wanted.member_of else ''
        try:
            group = matching.find(wanted, hint, cloud.server_groups)
        except PolicyMismatch as error:
            raise InvalidSpec(str(error), 'properties.servergroup') from error
        if group is None:
            return f'{exists}an attach creates the server group{of_flavor}'
        return f'{exists}an attach inherits server group {group.name} ({group.id}){of_flavor}'
