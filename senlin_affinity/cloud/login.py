"""Logs in: a session with a token, before any service is looked for.

The token is asked for first (every service needs it), so that a Keystone that does not answer, or
refuses, is reported as such, and not as a Nova that is not there.

Where ``GET auth_url`` answers 401, keystoneauth asks again with a token, which is what it is about
to get, under a lock that it then waits for itself (``get_access`` of
``keystoneauth1/identity/base.py``). That second request is refused before it is made, by a session
of our own: the session of a connection may be used by others.

Units: a timeout is in seconds, for the silence of Keystone, which is then not asked again, at this
URL or at another. The search for a service after it has the deadline of a call.

Errors: CloudError.
"""

from __future__ import annotations

import sys
from typing import Any

import requests
from keystoneauth1 import exceptions as keystoneauth
from openstack import exceptions as sdk
from openstack.connection import Connection

from senlin_affinity.cloud import transport, words
from senlin_affinity.cloud.deadline import GivenUp, within
from senlin_affinity.model.errors import CloudError

#: Everything that keeps an answer from coming back.
NO_ANSWER = (keystoneauth.ClientException, sdk.SDKException, requests.RequestException)
#: keystoneauth's words where a password is missing, which it raises as a bare Exception.
_NO_PASSWORD = 'password is a required attribute'


def log_in(connection: Connection, timeout: float) -> None:
    """Get a token, if there is none yet; ``timeout`` is for a connection that brings none."""
    try:
        session = connection.session
        if session.timeout is None:  # else a token and the discovery would wait for ever
            session.timeout = timeout
        transport.bound(session)
        within(session.timeout, impatient(session).get_token, session)
    except (*NO_ANSWER, GivenUp, OSError) as error:  # also a file of certificates that is not there
        raise _refused(connection, words.of(error), error) from error
    except Exception as error:
        if type(error) is not Exception or str(error) != _NO_PASSWORD:
            raise
        missing = 'the password is missing: set OS_PASSWORD, or password in clouds.yaml'
        raise _refused(connection, missing, error) from error


class _Impatient:
    """A keystoneauth session for one authentication, with its own request() method.

    It shares the HTTP connections, the credentials, the token and the discovered versions with the
    session of a connection, which other threads may use and which stays as it is.
    """

    def __init__(self, shared: Any) -> None:
        self.__dict__.update(vars(shared))
        self.__dict__.pop('request', None)  # an attribute would hide the method below
        self._shared = shared

    @property
    def session(self) -> Any:
        """Return the HTTP connections of the shared session, which may replace them."""
        return self._shared.session

    def request(self, *arguments: Any, **more: Any) -> Any:
        """Send a request, but stop keystoneauth if it would wait without end or try other URLs."""
        is_own = more.get('auth') in (None, self._shared.auth)
        if more.get('authenticated') and is_own:
            refused = sys.exc_info()[1]
            answered = f' ({words.of(refused)})' if refused is not None else ''
            why = f'it wants a token before it gives one{answered}'
            raise GivenUp(why, getattr(refused, 'http_status', None)) from refused
        try:
            return self._shared.request(*arguments, **more)
        except keystoneauth.ConnectTimeout as error:
            # No exception that keystoneauth and openstacksdk know ends their guessing of URLs.
            raise GivenUp(words.of(error)) from error


def impatient(shared: Any) -> Any:
    """Return a session for one authentication that stops when a server does not respond."""
    return type('Impatient', (_Impatient, type(shared)), {})(shared)


def _refused(connection: Connection, why: str, error: BaseException) -> CloudError:
    url = (connection.config.get_auth_args() or {}).get('auth_url')
    at = f' at {url}' if url else ''
    if url and '://' not in url:
        why = 'that is no URL: write one such as https://keystone.example.com/v3'
    status = error.status if isinstance(error, GivenUp) else getattr(error, 'http_status', None)
    return CloudError(f'could not log in{at}: {why}', status)
