"""Validate the spec of a policy, and check in a cloud that the named objects exist.

With a cloud, the command looks up the zone and the aggregates, and finds out by reading only what
an attach would do about the server group. With ``--profile``, it also checks the extra specs of the
flavor. For a spec 1.0, it says which class serves it. Exit status 3: the spec is not valid.
"""

from __future__ import annotations

import argparse

from senlin_affinity.cli import base, config_file, given, servers_view
from senlin_affinity.groups import attachment, steps
from senlin_affinity.model import spread
from senlin_affinity.model.errors import CloudError, Mistakes, PolicyMismatch
from senlin_affinity.policy import flavor, profile, properties

_NOT_ASKED = 'not checked (no --os-cloud)'
_IN_TREE = "Senlin's own policy"


class ValidatePolicy(base.ShowOne):
    """Check the spec of an affinity policy and, with a cloud, the objects that it names."""

    example = 'policy.yaml --profile profile.yaml'

    invalid_spec_status = 3

    def _add_arguments(self, add: base.Add) -> None:
        add('file', metavar='FILE', help='a policy spec, YAML or JSON')
        add('--profile', metavar='FILE', help="the spec of the profile of the policy's cluster")
        add(
            '--config-file',
            metavar='FILE',
            help="the engine's senlin.conf, which determines the class that serves a spec 1.0",
        )
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Read both files, report all mistakes, and describe what the policy will do."""
        wanted, mistakes = properties.PolicySpec(properties.VERSIONS[-1]), Mistakes()
        with mistakes.collected():
            wanted = given.spec(parsed_args.file, properties.load)

        def read_profile(spec: object) -> tuple[str | None, ...]:
            applicable, hint, of_profile = profile.check_applicable(spec), None, Mistakes()
            with of_profile.collected():
                profile.check_zone(applicable, wanted.spread)
            with of_profile.collected():
                hint = profile.group_hint(applicable)
            of_profile.check()
            return hint, profile.flavor(applicable), profile.zone_note(applicable, wanted.spread)

        hint, wanted_flavor, note = None, None, profile.zone_note({}, wanted.spread)
        if parsed_args.profile:
            with mistakes.collected():
                hint, wanted_flavor, note = given.spec(parsed_args.profile, read_profile)
        mistakes.check()
        server = {}
        if wanted.version == properties.VERSIONS[0]:
            server = {'served by': _server(parsed_args.config_file)}
        rules = ', '.join(f'{key}: {value}' for key, value in (wanted.rules or {}).items())
        is_chosen = wanted.pins_hosts or wanted.is_drs_enabled
        facts = {
            'spec': f'{properties.TYPE} {wanted.version}: valid',
            **server,
            'server group': hint or wanted.server_group_name or '(a new one for each cluster)',
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
        wanted: properties.PolicySpec,
        hint: str | None,
        wanted_flavor: str | None,
        timeout: float | None,
    ) -> str:
        if not self.has_cloud():
            return _NOT_ASKED
        from senlin_affinity.cloud import clients
        from senlin_affinity.cloud.connection import ports

        cloud = ports(clients.of(self.connection(timeout)))
        mistakes, of_flavor, group = Mistakes(), '', None
        try:
            with mistakes.collected():
                attachment.validate(wanted, cloud.inventory)
            with mistakes.collected():
                attachment.check_choice(wanted, cloud.inventory)
            with mistakes.collected():
                of_flavor = flavor.check(wanted, wanted_flavor, cloud.inventory)
            with mistakes.collected():
                attachment.member_of(wanted, cloud.inventory, cloud.candidates)
            with mistakes.collected():
                groups = cloud.server_groups
                groups.check(wanted.policy, wanted.rules or {})
                search = attachment.find(wanted, hint)
                group = steps.run(search, lambda effect: steps.ask_nova(effect, groups))
        except PolicyMismatch as error:
            mistakes.add(str(error), 'properties.servergroup')
        except CloudError:
            mistakes.check()  # report certain mistakes even if other checks failed
            raise
        mistakes.check()
        exists = f'zone {wanted.availability_zone} exists; ' if wanted.availability_zone else ''
        exists += 'the aggregates exist; ' if wanted.member_of else ''
        of_flavor = f'; {of_flavor}' if of_flavor else ''
        if group is None:
            return f'{exists}an attach creates the server group{of_flavor}'
        return f'{exists}an attach inherits server group {group.name} ({group.id}){of_flavor}'


def _server(path: str | None) -> str:
    """Return which class serves a spec 1.0 in an engine with this senlin.conf, if it is known."""
    if path is None:
        return f'{_IN_TREE}, or senlin-affinity if senlin.conf has [affinity] serve_version_1_0'
    is_ours = config_file.serves_version_1_0(path)
    return 'senlin-affinity ([affinity] serve_version_1_0)' if is_ours else _IN_TREE
