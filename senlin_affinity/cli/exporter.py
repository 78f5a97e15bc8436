"""Serve the capacity of clouds to Prometheus over HTTP.

Example::

    $ senlin-affinity exporter --cloud prod --cloud lab
    serving http://127.0.0.1:9180/metrics

Each cloud has a thread that reads it in the background; a scrape returns what was read last, and
never waits for a cloud. The server is that of prometheus_client, of the extra ``[metrics]``; it has
no authentication.

Exit statuses: 1 without prometheus_client, if the address is in use, or for an unknown cloud; 130
for Ctrl-C. Nothing that a cloud does ends the process.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from senlin_affinity.cli import base, metrics, request_options
from senlin_affinity.cli.refresh import ALL, Refresher, Wanted
from senlin_affinity.engine.parts import ZONE
from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX
from senlin_affinity.model.errors import AffinityError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

_LISTEN = '127.0.0.1:9180'
_INTERVAL = 300.0
_LARGEST_PORT = 65535
#: The number of connections that may wait; that of wsgiref is 5.
_WAITING = 128
_MISSING = 'prometheus_client is not installed: pip install prometheus_client'


class Exporter(base.Command):
    """Serve the capacity of every flavor, and what is free and stranded, to Prometheus.

    The clouds are read in the background. A read-only account suffices.
    """

    example = '--cloud mycloud'

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--listen',
            metavar='HOST:PORT',
            type=_address,
            default=_address(_LISTEN),
            help=f'the address of the HTTP server (default: {_LISTEN}); there is no authentication',
        )
        add(
            '--cloud',
            metavar='NAME',
            **request_options.REPEATED,
            help='a cloud in clouds.yaml; may be repeated (default: that of --os-cloud or the '
            'environment)',
        )
        add(
            '--interval',
            metavar='SECONDS',
            type=base.seconds,
            default=_INTERVAL,
            help='the time between the starts of two refreshes (default: 300); it is longer if '
            'refreshes would take more than a tenth of the time',
        )
        add(
            '--flavor',
            metavar='F',
            **request_options.REPEATED,
            help='a flavor, by name or id, or a pattern of names such as "m1.*"; may be repeated '
            '(default: all)',
        )
        add(
            '--by-host',
            action='store_true',
            help='add the capacity of each host: a sample for each host and flavor',
        )
        add(
            '--resilience',
            metavar='KEY',
            nargs='?',
            const=ZONE,
            help='add which zones can be lost with every server evacuated elsewhere (or the '
            'domains of "resilience --by KEY"), and the number of hosts that can be; this reads '
            'the servers of all projects, which needs an administrator',
        )
        add(
            '--prefix',
            default=GROUP_NAME_PREFIX,
            help="the value of the engines' option group_name_prefix (default: %(default)s)",
        )
        add('--tls-certificate', metavar='FILE', help='serve HTTPS with this certificate')
        add('--tls-key', metavar='FILE', help='the private key of the certificate')
        add(
            '--tls-client-ca',
            metavar='FILE',
            help='accept only clients with a certificate of these authorities',
        )
        request_options.add_settings(add)
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Start the threads and the server; return only by an exception."""
        try:
            import prometheus_client as _library  # noqa: F401 - fails before anything starts
        except ImportError as error:
            raise AffinityError(_MISSING) from error
        clouds = self._clouds(parsed_args)
        server = _serve(parsed_args, clouds)
        scheme = 'https' if parsed_args.tls_certificate else 'http'
        host = parsed_args.listen[0]
        host = f'[{host}]' if ':' in host else host
        self.app.stderr.write(f'serving {scheme}://{host}:{server.server_port}/metrics\n')
        self.app.stderr.flush()
        for each in clouds:
            threading.Thread(target=each.run, name=f'refresh {each.name}', daemon=True).start()
        threading.Event().wait()

    def _clouds(self, parsed_args: argparse.Namespace) -> list[Refresher]:
        """Return the clouds; raise CloudError for one that clouds.yaml lacks."""
        if not parsed_args.cloud and not self.has_cloud():
            raise base.UsageError('name a cloud: --cloud, --os-cloud, or OS_CLOUD')
        # prometheus_client serves plain HTTP unless it has both.
        if (parsed_args.tls_key is None) != (parsed_args.tls_certificate is None):
            raise base.UsageError('specify both --tls-certificate and --tls-key')
        if parsed_args.tls_client_ca is not None and parsed_args.tls_key is None:
            raise base.UsageError('--tls-client-ca needs --tls-certificate and --tls-key')
        constraints, settings, _files = request_options.read_settings(parsed_args)
        wanted = Wanted(
            settings,
            tuple(parsed_args.flavor) or ALL,
            constraints,
            parsed_args.by_host,
            parsed_args.prefix,
            parsed_args.timeout,
            parsed_args.max_answer_size,
            parsed_args.resilience,
        )
        names = dict.fromkeys(parsed_args.cloud) or [base.cloud_name(self.app_args)]
        return [Refresher(name, wanted, parsed_args.interval) for name in names]


class Collector:
    """A collector of prometheus_client that returns what was read last."""

    def __init__(self, clouds: Sequence[Refresher]) -> None:
        self._clouds = clouds

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with the samples of all clouds."""
        for family in metrics.merged([each.families for each in self._clouds]):
            if family.samples:
                yield _converted(family)


def _converted(family: metrics.Family) -> Metric:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    kind = CounterMetricFamily if family.kind == 'counter' else GaugeMetricFamily
    found = kind(family.name, family.documentation, labels=family.labels)
    for labels, value in family.samples.items():
        found.add_metric(labels, value)
    return found


def registry(clouds: Sequence[Refresher]) -> CollectorRegistry:
    """Return the metrics of the clouds and of this process."""
    from prometheus_client import CollectorRegistry, ProcessCollector

    made = CollectorRegistry()
    made.register(Collector(clouds))  # type: ignore[arg-type]
    ProcessCollector(registry=made)
    return made


def _serve(parsed_args: argparse.Namespace, clouds: Sequence[Refresher]) -> Any:
    """Start the HTTP server in a thread, and return it."""
    from prometheus_client import start_http_server

    host, port = parsed_args.listen
    try:
        server, _thread = start_http_server(
            port,
            host,
            registry(clouds),
            certfile=parsed_args.tls_certificate,
            keyfile=parsed_args.tls_key,
            client_cafile=parsed_args.tls_client_ca,
            client_auth_required=parsed_args.tls_client_ca is not None,
        )
    except OSError as error:  # also a certificate that cannot be read
        where = error.filename or f'{host}:{port}'
        why = error.strerror or str(error)
        raise AffinityError(f'the server cannot use {where}: {why}') from error
    server.socket.listen(_WAITING)
    return server


def _address(text: str) -> tuple[str, int]:
    """Parse ``HOST:PORT``; an IPv6 address is in brackets."""
    host, colon, port = text.rpartition(':')
    is_port = port.isascii() and port.isdigit() and int(port[:6]) <= _LARGEST_PORT
    if not (host and colon and is_port) or (':' in host and not host.startswith('[')):
        raise argparse.ArgumentTypeError(f'must be HOST:PORT, such as {_LISTEN}, not {text!r}')
    return host.strip('[]'), int(port)
