"""Logs in: a session with a token, before any service is looked for.

The token is asked for first (every service needs it), so that a Keystone that does not answer, or
refuses, is reported as such, and not as a Nova that is not there.

Where ``GET auth_url`` answers 401, keystoneauth asks again with a token, which is what it is about
to get, under a lock that it then waits for itself (``get_access`` of
``keystoneauth1/identity/base.py``). That second request is refused before it is made.

Units: a timeout is in seconds, for the silence of a server, which is then not asked again, at this
URL or at another.

Errors: CloudError.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import requests
from keystoneauth1 import exceptions as keystoneauth
from openstack import exceptions as sdk
from openstack.connection import Connection

from senlin_affinity.cloud import transport, words
from senlin_affinity.cloud.deadline import GivenUp, within
from senlin_affinity.core.errors import CloudError

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
        with_token = impatient(session, is_log_in=True)(session.get_token)
        within(session.timeout, with_token, session)
    except (*NO_ANSWER, GivenUp, OSError) as error:  # also a file of certificates that is not there
        raise _refused(connection, words.of(error), error) from error
    except Exception as error:
        if type(error) is not Exception or str(error) != _NO_PASSWORD:
            raise
        missing = 'the password is missing: set OS_PASSWORD, or password in clouds.yaml'
        raise _refused(connection, missing, error) from error


@contextlib.contextmanager
def impatient(session: Any, *, is_log_in: bool = False) -> Iterator[None]:
    """Where a server is silent, do not go on: keystoneauth would guess another URL and wait again.

    With ``is_log_in``, do not ask for the token in order to get it either. No exception that
    keystoneauth and openstacksdk know ends their guessing, so this is one of ours.
    """
    request, opener = session.request, threading.get_ident()

    def ask(*arguments: Any, **more: Any) -> Any:
        if threading.get_ident() != opener:  # who shares the session knows its own exceptions
            return request(*arguments, **more)
        if is_log_in and more.get('authenticated') and more.get('auth') in (None, session.auth):
            refused = sys.exc_info()[1]
            answered = f' ({words.of(refused)})' if refused is not None else ''
            why = f'it wants a token before it gives one{answered}'
            raise GivenUp(why, getattr(refused, 'http_status', None)) from refused
        try:
            return request(*arguments, **more)
        except keystoneauth.ConnectTimeout as error:
            raise GivenUp(words.of(error)) from error

    session.request = ask
    try:
        yield
    finally:
        # Whoever else logs in at this moment has put its own there, and taken this one for the
        # session's: the last to end leaves the class's.
        session.__dict__.pop('request', None)


def _refused(connection: Connection, why: str, error: BaseException) -> CloudError:
    url = (connection.config.get_auth_args() or {}).get('auth_url')
    at = f' at {url}' if url else ''
    if url and '://' not in url:
        why = 'that is no URL: write one such as https://keystone.example.com/v3'
    status = error.status if isinstance(error, GivenUp) else getattr(error, 'http_status', None)
    return CloudError(f'could not log in{at}: {why}', status)
