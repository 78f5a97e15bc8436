"""Log in to Keystone, so that a failure of it is not reported as a missing Nova."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import requests
from keystoneauth1 import exceptions as keystoneauth
from openstack import exceptions as sdk
from openstack.connection import Connection

from senlin_affinity.cloud import transport
from senlin_affinity.cloud.transport import GivenUp, error_text, within
from senlin_affinity.model.errors import CloudError

#: What the libraries raise if they get no usable response, or cannot send the request: a name has
#: lone surrogates if the argument of the command is not UTF-8.
NO_ANSWER = (
    keystoneauth.ClientException,
    sdk.SDKException,
    requests.RequestException,
    UnicodeEncodeError,
)
#: keystoneauth's bare Exception without a password.
_NO_PASSWORD = 'password is a required attribute'


def log_in(connection: Connection, timeout: float) -> None:
    """Get a token, unless the session has a valid one.

    Raise CloudError if Keystone issues none, and without a password or file of certificates. Set
    the session's timeout, unless it has one, and limit the size of its responses.

    :param timeout: in seconds.
    """
    try:
        session = connection.session
        if session.timeout is None:  # could wait forever
            session.timeout = timeout
        transport.bound(session)
        within(session.timeout, lambda: _authenticate(session))
    except (*NO_ANSWER, GivenUp, OSError) as error:  # OSError: a missing file of certificates
        raise _refused(connection, error_text(error), error) from error
    except Exception as error:
        missing = 'the password is missing: set OS_PASSWORD, or password in clouds.yaml'
        is_missing = type(error) is Exception and str(error) == _NO_PASSWORD
        if is_missing or _is_malformed(_auth_url(connection)):
            raise _refused(connection, missing, error) from error
        raise


def _authenticate(session: Any) -> None:
    """Get a token, and read its time of expiry, which keystoneauth reads in each later request."""
    session.get_token()
    if hasattr(session.auth, 'get_access'):
        session.auth.get_access(session).will_expire_soon()


def _refused(connection: Connection, why: str, error: BaseException) -> CloudError:
    """Return the error "could not log in at <auth_url>: ``why``", with the status of ``error``.

    Without an ``auth_url``, "could not log in: ``why``"; a hint replaces ``why`` if malformed.
    """
    url = _auth_url(connection)
    at = f' at {url}' if url else ''
    if _is_malformed(url):
        why = 'auth_url must be a URL such as https://keystone.example.com/v3'
    status = error.status if isinstance(error, GivenUp) else getattr(error, 'http_status', None)
    return CloudError(f'could not log in{at}: {why}', status)


def _auth_url(connection: Connection) -> str:
    """Return the ``auth_url`` of the connection, or ''."""
    return (connection.config.get_auth_args() or {}).get('auth_url') or ''


def _is_malformed(url: str) -> bool:
    """Check whether a URL lacks its scheme or host, or cannot be parsed; False for ''."""
    try:
        parts = urlsplit(url)
        return url != '' and not (parts.scheme and parts.netloc)
    except ValueError:
        return True
