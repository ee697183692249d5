"""What a run or a study hands to whoever prints it: a titled table with notes."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of text; the notes carry grades, sources and verdicts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes),
        }
