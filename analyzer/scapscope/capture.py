"""Turns a capture file into its events: one by one, or as Arrow record batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from scapscope._native import ArrowStream, Event, EventStream
from scapscope.report import Damage
from scapscope.report import damage as typed_damage


class Capture:
    """The events of one capture file, in file order. Each iteration reads the file anew.

    Standard input can be gone through once only. Memory stays bounded whatever the file's size.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        types: Iterable[str] | None = None,
        tids: Iterable[int] | None = None,
        containers: Iterable[str] | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
    ) -> None:
        """Open `path`; see scapscope.open. Raises CaptureError when it is not a capture."""
        self.path = os.fspath(path)
        self._types = None if types is None else list(types)
        self._tids = None if tids is None else list(tids)
        self._containers = None if containers is None else list(containers)
        self._since_ns = since_ns
        self._until_ns = until_ns
        self._unread: EventStream | None = self._stream()
        self._latest = self._unread

    def __iter__(self) -> Iterator[Event]:
        return iter(self._next_stream())

    def to_arrow(self, batch_size: int = 65536) -> ArrowStream:
        """The events as Arrow record batches of up to `batch_size` rows, without copies.

        The result has ``__arrow_c_stream__``, so ``polars.DataFrame(...)``, ``pyarrow.table(...)``
        and DuckDB read it as it is.
        """
        return self._next_stream().to_arrow(batch_size)

    @property
    def damage(self) -> Damage | None:
        """Where the file stops making sense; known once the events have been read to their end."""
        return typed_damage(self._latest.damage)

    def _next_stream(self) -> EventStream:
        stream, self._unread = self._unread or self._stream(), None
        self._latest = stream
        return stream

    def _stream(self) -> EventStream:
        return EventStream(
            self.path,
            types=self._types,
            tids=self._tids,
            containers=self._containers,
            since_ns=self._since_ns,
            until_ns=self._until_ns,
        )
