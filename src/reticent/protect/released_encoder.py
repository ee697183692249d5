"""A released encoder at work: it makes features of rows wherever an encoder is asked for.

``release_encoder`` makes one, ``encoder_from`` opens one by the path that it was saved under (as
well as every public encoder by its name), and ``use_encoder`` puts it into the terms of a later
release. ``composed_guarantee`` is what a release and the one below it promise together.
"""

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from reticent.accounting.account import account
from reticent.arrays import Array, Floats, Floats32
from reticent.data.dataset import Dataset
from reticent.guarantee import Composed, Guarantee, composed, parallel
from reticent.guarantee.rounding import up
from reticent.protect.certificate import FORMAT, document_of, event_in, load, used_problems
from reticent.protect.noisy_query import is_minted, minted
from reticent.protect.registry import ENCODING, encoders, is_own
from reticent.protect.release import Charge, Release, release_records
from reticent.protect.sealed_pair import paths_of
from reticent.protect.table import ReleaseRequest, rows_kept
from reticent.protect.used_encoder import People, UsedEncoder, UsedStart, as_people
from reticent.read_limit import bounded_bytes
from reticent.strict_json import MOST_BYTES, parsed_object
from reticent.training.encoders.base import Encoder
from reticent.training.encoders.cache import one_by_one
from reticent.training.encoders.named import encoder_of
from reticent.validation import InputError, NotCoveredError, describe

_CHUNK: Final = 4096


class ReleasedEncoder:
    """A release that makes features, with the public encoder below it: both are fixed and public.

    Images or texts go through the public encoder first; rows of a recipe without one go in as they
    are (images flattened, bytes divided by 255).
    """

    def __init__(self, release: Release) -> None:
        if type(release) is not Release or release.recipe.task != ENCODING:
            raise InputError(f"encoder must be a release of an encoder, got {describe(release)}")
        self.release = release

    @cached_property
    def below(self) -> Encoder | None:
        """The public encoder that makes rows of raw data, where the recipe names one."""
        name = str(self.release.recipe.to_dict().get("base", ""))
        return encoder_of(name) if name else None

    def fingerprint(self) -> str:
        """SHA-256 of certificate, tensors and what lies below."""
        own = fingerprint_of(self.release)
        if self.below is None:
            return own
        return hashlib.sha256(f"{own}; {self.below.fingerprint()}".encode()).hexdigest()

    def encode(self, inputs: Array) -> Floats32:
        """Features (n, d) of images, texts or rows, each of its own alone."""
        rows = rows_of(inputs if self.below is None else one_by_one(self.below)(inputs))
        parts = [
            self.release.transform(rows[start : start + _CHUNK]).astype(np.float32)
            for start in range(0, len(rows), _CHUNK)
        ]
        return np.concatenate(parts or [self.release.transform(rows).astype(np.float32)])


def looks_at_each_row(encoder: Encoder) -> bool:
    """Whether batches of an encoder are safe: a release of our own makes each row by itself."""
    held = release_of(encoder)
    return held is not None and is_own(held.recipe)


def rows_of(inputs: Array) -> Floats:
    """Rows of a recipe: images flattened and their bytes divided by 255; texts are refused."""
    data = Dataset(name="inputs", source="rows", inputs=inputs)
    return data.features.astype(np.float64, copy=False)


def release_encoder(
    data: Dataset, request: ReleaseRequest, *, charge: Charge | None = None
) -> Release:
    """An encoder on the rows of a table, released once; labels are not looked at.

    With persons in the data each keeps its first ``max_records_per_person`` rows, and the person is
    the unit. What is returned makes features: ``release.transform(rows)``.
    """
    if request.recipe not in encoders():
        known = ", ".join(encoders())
        raise InputError(f"method must be one of {known}, got {request.recipe!r}")
    if request.terms.used is not None:
        raise InputError("encoder must be made of records, got the features of a released one")
    request = request.for_rows_of(data)
    kept = rows_kept(data, request.terms.max_records_per_person)
    rows = data.features[kept].astype(np.float64, copy=False)
    recipe = request.planned(rows.shape[1], 0)
    return release_records(recipe, request.terms, rows, np.zeros(len(rows)), charge=charge)


def fingerprint_of(release: Release) -> str:
    """SHA-256 over the certificate, but for who made it when, and every tensor."""
    document = {name: value for name, value in document_of(release).items() if name != "version"}
    document["guarantee"] = None  # a loaded one is declared, and it follows from the rest
    digest = hashlib.sha256(json.dumps(document, sort_keys=True, allow_nan=False).encode())
    for name, tensor in sorted(release.tensors.items()):
        digest.update(f"{name}:{tensor.shape};".encode())
        digest.update(np.ascontiguousarray(tensor, dtype=np.float64).tobytes())
    return digest.hexdigest()


def encoder_from(text: str) -> Encoder:
    """A released encoder by its path (OUT of pretrain, or its folder), or a public one by name."""
    place = _released_at(text)
    if place is None:
        return encoder_of(text)
    release = load(place)
    if release.recipe.task != ENCODING:
        raise InputError(f"{text} must hold a released encoder, got a {release.recipe.task}")
    return ReleasedEncoder(release)


def release_of(encoder: Encoder | Release | None) -> Release | None:
    """The release that an encoder is or holds as ``release``; None for public encoders and none."""
    held = encoder if type(encoder) is Release else getattr(encoder, "release", None)
    return held if type(held) is Release else None


def use_encoder(
    encoder: Encoder | Release | None, people: People | str | None
) -> UsedEncoder | None:
    """For ``Terms.encoder``: what a release on features of this encoder must say.

    None for public encoders, which need no guarantee; whose records a released one was made of must
    be said.
    """
    release = release_of(encoder)
    if release is None:
        if getattr(encoder, "private", None) is not None:
            from reticent.training.encoders.torch_encoder import refuse_private

            refuse_private(encoder)
        if people is not None:
            raise InputError(
                "encoder_people must be said of a released encoder alone, got a public one or none"
            )
        return None
    if people is None:
        raise InputError(
            "encoder_people must be said: same where anybody of the private records may be among"
            " the encoder's (both guarantees add up), other where nobody is"
        )
    release = ReleasedEncoder(release).release  # refuses what makes no features
    used = UsedEncoder.of(
        as_people(people), fingerprint_of(release), document_of(release), release.guarantee
    )
    object.__setattr__(used, "guarantee", release.guarantee)  # of the document, by one release
    return used


def use_start(path: str | Path | None, people: People | str | None) -> UsedStart | None:
    """For ``Terms.start``: what a network that starts from this released head must say."""
    if path is None:
        if people is not None:
            raise InputError("start_people must be said of a start, got none")
        return None
    if people is None:
        raise InputError(
            "start_people must be said: same where anybody of the private records may be among"
            " those of the start (both guarantees add up), other where nobody is"
        )
    head = load(path)
    if head.terms.used is not None:
        raise InputError(f"start must be made of records alone, got {path}, which uses a release")
    return UsedStart.of(people, fingerprint_of(head), document_of(head), head.guarantee)


def composed_guarantee(release: Release) -> Guarantee | None:
    """What a release and the one it builds on promise together; None where there is none.

    Of the same people by the accountants for both events, at the sum of both δ, or by the sum of
    both ε where that is less; of other people the larger of the two.
    """
    used = release.terms.used
    if used is None:
        return None
    classes = release.classes_.tolist()
    if problems := used_problems(release.recipe, release.terms, classes):
        raise InputError(f"{used.noun} must hold by its own numbers, got: {problems[0]}")
    parts = (used.guarantee, release.guarantee)
    if used.people is People.OTHER:
        return parallel(parts)
    both = composed(parts)
    events = Composed(events=(event_in(used.document), release.event))
    try:
        sharp = up(account(events, relation=both.relation, delta=both.delta).epsilon)
    except NotCoveredError:
        return both
    if not sharp < both.epsilon:
        return both
    sharper = Guarantee(
        epsilon=sharp,
        delta=both.delta,
        relation=both.relation,
        unit=both.unit,
        checked=both.checked,
        stated=both.stated,
        composed_of=parts,
    )
    return minted(sharper) if all(map(is_minted, parts)) else sharper


def _released_at(text: str) -> Path | None:
    """Where the release that a text names lies, if it names one."""
    path = Path(text).expanduser()
    if path.is_dir():
        certificates = [one for one in sorted(path.glob("*.json")) if _is_certificate(one)]
        if len(certificates) != 1:
            raise InputError(f"{text} must be a folder with one release, got {len(certificates)}")
        return certificates[0]
    try:
        certificate = paths_of(path).certificate
    except InputError:
        return None
    return path if certificate.is_file() and _is_certificate(certificate) else None


def _is_certificate(path: Path) -> bool:
    try:
        document = parsed_object(bounded_bytes(path, most=MOST_BYTES), source=str(path))
    except InputError:
        return False
    return document.get("format") == FORMAT
