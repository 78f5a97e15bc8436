"""The errors of the project, one class per kind of failure.

A rejected host is not an error but a :class:`~senlin_affinity.model.verdict.Verdict`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from senlin_affinity.model.terminal_text import escaped

_MOST_MISTAKES = 20
_MAX_QUOTED_CHARACTERS = 80


class AffinityError(Exception):
    """The base class of the project's errors."""


class InvalidSpec(AffinityError):
    """An error in the input of a user: a spec, a file, a name, a mode.

    :param message: what is wrong, and what to write instead.
    :param path: the path of the wrong value (``properties.servergroup.name``), with which the text
        begins; empty for the whole input.
    """

    _joined: tuple[InvalidSpec, ...] = ()

    def __init__(self, message: str, path: str = '') -> None:
        self.message = message
        self.path = path
        super().__init__(f'{path}: {message}' if path else message)

    @classmethod
    def joined(cls, mistakes: Sequence[InvalidSpec]) -> InvalidSpec:
        """Return one error with the texts of all mistakes and the path of the first."""
        first, *others = mistakes
        if not others:
            return first
        error = cls('; '.join([first.message, *map(str, others)]), first.path)
        error._joined = (*mistakes,)
        return error

    @property
    def mistakes(self) -> tuple[InvalidSpec, ...]:
        """Return the errors that this one joins, or the error itself."""
        return self._joined or (self,)


class InvalidExtraSpec(InvalidSpec):
    """Invalid values or unknown names of extra specs; each of ``errors`` begins with the name."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(errors)
        super().__init__('; '.join(self.errors))


class Mistakes:
    """A collector of mistakes in the input of a user, which raises them as one InvalidSpec.

    It raises as soon as it holds 20 mistakes.
    """

    def __init__(self) -> None:
        self._found: list[InvalidSpec] = []

    def add(self, message: str, path: str) -> None:
        """Collect one mistake."""
        self._add((InvalidSpec(message, path),))

    @contextlib.contextmanager
    def collected(self) -> Iterator[None]:
        """Collect the mistakes of an InvalidSpec that the block raises, and continue."""
        try:
            yield
        except InvalidSpec as error:
            self._add(error.mistakes)

    def check(self) -> None:
        """Raise the mistakes, if there are any."""
        if self._found:
            raise InvalidSpec.joined(self._found)

    def _add(self, mistakes: Iterable[InvalidSpec]) -> None:
        self._found = [*self._found, *mistakes][:_MOST_MISTAKES]
        if len(self._found) == _MOST_MISTAKES:
            self.check()


class CloudError(AffinityError):
    """A cloud that cannot be reached, rejects a request, or returns malformed data.

    It never means "does not fit".

    :param message: what was tried, and the message of the service.
    :param status: the HTTP status; None without a response.
    :param is_uncertain: whether a failed write may have succeeded (a timeout, a reset connection, a
        5xx, a body that is not JSON, a 404 from something other than the service).
    """

    def __init__(
        self, message: str, status: int | None = None, *, is_uncertain: bool = False
    ) -> None:
        self.status = status
        self.is_uncertain = is_uncertain
        super().__init__(message)


class TooLarge(CloudError):
    """A response of the cloud exceeds ``max_answer_size``; a retry would not help."""


class GroupMayExist(CloudError):
    """A request to create a server group whose outcome is unknown."""


class PolicyMismatch(AffinityError):
    """A server group that differs from the policy's properties, or may not be used."""


class GroupBusy(AffinityError):
    """A server group about which another action decides at the moment: wait, and start again."""


class QuotaExceeded(AffinityError):
    """A quota without free capacity for a server group that is about to be created."""


class BindingError(AffinityError):
    """Stored data of a cluster's policy that is missing or malformed."""


class PluginError(AffinityError):
    """A constraint or a validator that does not load, or two of them with one name."""


class ConstraintError(PluginError):
    """A constraint that raised an exception or returned an invalid value: a bug in its code.

    :param constraint: its name.
    :param method: the method that failed.
    :param why: the text of the exception, or a description of the value.
    :param where: the host or the domains; empty for a whole request. ``for_users`` omits it,
        because only operators may read it.
    """

    def __init__(self, constraint: str, method: str, why: str, where: str = '') -> None:
        self.for_users = f'constraint {constraint}: {method} failed: {why}'
        on = f' on {where}' if where else ''
        super().__init__(f'constraint {constraint}: {method} failed{on}: {why}')


def is_defect(error: BaseException) -> bool:
    """Check whether an error is a bug, in our code or in a constraint's."""
    return isinstance(error, ConstraintError) or not isinstance(error, AffinityError)


def in_words(error: BaseException) -> str:
    """Return the error in one printable line; a foreign error begins with its type."""
    message = error.for_users if isinstance(error, ConstraintError) else str(error)
    text = escaped(' '.join(message.split()))
    return text if isinstance(error, AffinityError) else f'{type(error).__name__}: {text}'


def quoted(value: object) -> str:
    """Return the repr of a value for a message, cut after 80 characters."""
    text = repr(value)
    is_short = len(text) <= _MAX_QUOTED_CHARACTERS
    return text if is_short else f'{text[:_MAX_QUOTED_CHARACTERS]}...'
