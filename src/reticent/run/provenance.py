"""What a run was made of, so that it can be made again."""

import dataclasses
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version

from reticent.results import DataSummary, Provenance
from reticent.run.spec import RunData, RunSpec

RANDOM = (
    "the noise of every release, and with it its accuracy, its attacks and its measured bound: it"
    " comes from the operating system and has no seed",
)
_PACKAGES = ("reticent", "numpy", "scipy", "scikit-learn")


def facts_of(data: RunData, spec: RunSpec) -> DataSummary:
    """The data of the run in numbers, for the document."""
    return DataSummary(
        name=data.name,
        private=len(data.private),
        others=len(data.others),
        test=len(data.test),
        test_is_public=data.test_is_public,
        public=data.public,
        features=data.features,
        feature_kind=data.kind,
        classes=data.private.classes,
        relation=str(spec.neighbours),
        unit=spec.unit,
    )


def made_of(spec: RunSpec, command: str, seconds: float) -> Provenance:
    """The command, the versions and every setting."""
    settings = {field.name: str(getattr(spec, field.name)) for field in dataclasses.fields(spec)}
    return Provenance(
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(seconds, 1),
        seed=spec.seed,
        versions={name: version(name) for name in _PACKAGES}
        | {"python": platform.python_version(), "platform": sys.platform},
        random=RANDOM,
        settings=settings,
    )
