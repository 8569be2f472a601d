"""Outcomes by the number of their query, kept in a file as soon as they are there: what was evaluated is never lost.

A campaign is told answers in the order of its questions. One that is ready before its turn waits here, on the disk, so
that after any interruption it is not evaluated again. The first line says what the outcomes are of, and the file is
locked while it is open: two runs cannot evaluate the same at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from gainful.campaign.lines import Lines, Mark, read_lines, to_lines, to_text
from gainful.checks import require
from gainful.errors import GainfulError, InvalidInput
from gainful.studies.outcome import Outcome

__all__ = ["Kept"]


class Kept(dict[int, Outcome]):
    """The outcomes so far; `add` keeps one more. Without a path they are kept in memory alone.

    `heading` is the first line: what is there, or what is given where the file is new.
    """

    def __init__(self, path: Path | None = None, heading: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.heading: dict[str, Any] = dict(heading or {})
        self._file: Lines | None = None
        self._mark = Mark()
        if path is not None:
            self._open(path)

    def _open(self, path: Path) -> None:
        try:
            self._file = Lines(path, create=True)
        except BlockingIOError:
            raise GainfulError(f"{path.parent}: another run is at work there; wait for it, or take another") from None
        except OSError as error:
            raise InvalidInput(
                str(path), "a file that can be written", error.strerror or str(error), "take another"
            ) from None
        try:
            content = read_lines(path)
            if content.damage is not None and not (content.damage.last and content.mark.lines):
                remedy = "take another folder; what is before that line is good"
                got = f"line {content.damage.line}, which {content.damage.reason}"
                raise InvalidInput(str(path), "outcomes as they were written", got, remedy)
            self._mark, first = content.mark, to_text({"outcomes": 1, **self.heading})
            if not content.records:
                whole, _ = to_lines([first], Mark())
                remedy = "take another folder; it is left alone"
                require(whole.startswith(content.torn), str(path), "a file of outcomes", "something else", remedy)
                self._mark = self._file.write([first], self._mark)
            elif "outcomes" not in content.records[0]:
                raise InvalidInput(str(path), "a file of outcomes", "something else", "take another")
            else:
                self.heading = {name: value for name, value in content.records[0].items() if name != "outcomes"}
            for record in content.records[1:]:
                self[int(record["query"])] = Outcome.from_json(record)
        except BaseException:
            self._file.close()
            raise

    def add(self, query: int, outcome: Outcome) -> None:
        """Keep an outcome, on the disk where there is a file."""
        if self._file is not None:
            self._mark = self._file.write([to_text({"query": query, **outcome.to_json()})], self._mark)
        self[query] = outcome

    def only_below(self, number: int) -> None:
        """Forget the outcomes of queries that a campaign has not asked: its journal was taken away since."""
        for query in [each for each in self if each >= number]:
            del self[query]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Kept:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
