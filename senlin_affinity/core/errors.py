"""The errors of the project, one class per kind of failure.

A rule that does not hold is not an error: it is a :class:`~senlin_affinity.core.verdict.Verdict`.
An error says that something could not be done or found out.
"""

from __future__ import annotations

from collections.abc import Iterable


class AffinityError(Exception):
    """Whatever this project raises on purpose."""


class InvalidSpec(AffinityError):
    """What a person wrote is wrong: a spec, a file, a name, a mode.

    :param message: what is wrong, and what to write instead.
    :param path: where, with dots (``properties.servergroup.name``); the text begins with it.
        Empty when the whole input is meant.
    """

    def __init__(self, message: str, path: str = '') -> None:
        self.message = message
        self.path = path
        super().__init__(f'{path}: {message}' if path else message)


class InvalidExtraSpec(InvalidSpec):
    """Invalid values or unknown names of extra specs; each of ``errors`` begins with the name."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(errors)
        super().__init__('; '.join(self.errors))


class CloudError(AffinityError):
    """The cloud could not be asked, refused, or answered with something odd.

    It never reads as "does not fit": nothing was found out.

    :param message: what was tried, and the service's own words.
    :param status: the HTTP status, None where there was no answer.
    :param is_uncertain: True where a write may have happened all the same (a timeout, a reset
        connection, a 5xx, a body that is not JSON, a 404 that is not the service's own).
    """

    def __init__(
        self, message: str, status: int | None = None, *, is_uncertain: bool = False
    ) -> None:
        self.status = status
        self.is_uncertain = is_uncertain
        super().__init__(message)


class GroupMayExist(CloudError):
    """A server group was asked for, and whether the cloud created it could not be found out."""


class PolicyMismatch(AffinityError):
    """A server group exists, but is not what the policy asks for, or may not be used."""


class QuotaExceeded(AffinityError):
    """A quota leaves no room for what is about to be created."""


class BindingError(AffinityError):
    """What is remembered of a cluster and its policy is missing or cannot be read."""


class PluginError(AffinityError):
    """A constraint or a validator does not load, or two of them have one name."""


class ConstraintError(PluginError):
    """A constraint raised an exception, or its answer is not one: a mistake in its code.

    :param constraint: its name.
    :param method: what was called.
    :param why: the exception, or the answer, in words.
    :param where: the host or the domains that it was asked about; empty for a whole request. Only
        operators see it.
    """

    def __init__(self, constraint: str, method: str, why: str, where: str = '') -> None:
        self.for_users = f'constraint {constraint}: {method} failed: {why}'
        on = f' on {where}' if where else ''
        super().__init__(f'constraint {constraint}: {method} failed{on}: {why}')


def is_mistake(error: BaseException) -> bool:
    """Is it a mistake in code, ours or a constraint's, and no error that is raised on purpose?"""
    return isinstance(error, ConstraintError) or not isinstance(error, AffinityError)


def in_words(error: BaseException) -> str:
    """An error in one line for the user: ours as they are, any other with its kind."""
    said = error.for_users if isinstance(error, ConstraintError) else str(error)
    text = ' '.join(said.split())
    return text if isinstance(error, AffinityError) else f'{type(error).__name__}: {text}'
