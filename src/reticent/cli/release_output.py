"""Writes a release to its files and prints what it promises, for every command that makes one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.cli.ledger_options import NOT_CHARGED
from reticent.cli.output import print_json, print_line, print_warning
from reticent.guarantee import Guarantee, rounding
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import Release


def refuse_unwritable(out: Path, *, replace: bool) -> None:
    """A path that cannot be written, or has a release, is found before the budget is spent."""
    from reticent.files import writable_file
    from reticent.protect.sealed_pair import paths_of

    places = paths_of(out)
    for path in places:
        writable_file(path)
    refuse_earlier(places, replace=replace)


def refuse_earlier(places: Iterable[Path], *, replace: bool) -> None:
    """Files that stand where a release is to be written: its budget was spent on them."""
    earlier = [path for path in places if path.exists()]
    if earlier and not replace:
        raise InputError(
            f"--out must not be that of an earlier release, got {earlier[0]}, which is there: take"
            " another name, or --replace to write over it"
        )


def write_release(released: Release, out: Path, signer: Any, *, json: bool, charged: bool) -> None:
    """Save weights and certificate, signed where a signer is named, and print what they promise."""
    from reticent.protect import save

    weights, certificate = save(released, out, sign=signer)
    print_released(released, weights, certificate, json)
    if json:
        return
    if signer is not None:
        print_line(f"signed by {signer.name}")
    if not charged:
        print_warning(NOT_CHARGED)


def print_released(released: Release, weights: Path, certificate: Path, json: bool) -> None:
    """The guarantee, its two lists and where the release was written."""
    if json:
        from reticent.protect.certificate import document_of

        files = {"weights": str(weights), "certificate": str(certificate)}
        print_json({**files, **document_of(released), **composed_document(released)})
        return
    print_line(str(released.guarantee))
    print_composed(released)
    print_line(f"{_noise(released)}; written to {weights} and {certificate}")
    print_assumptions(released.guarantee)


def print_composed(released: Release) -> None:
    """The guarantee of an encoder or start below a release, and that of both together."""
    from reticent.protect.released_encoder import composed_guarantee

    used, both = released.terms.used, composed_guarantee(released)
    if used is not None and both is not None:
        print_line(f"{used.noun}, of {used.people} people: {used.guarantee}")
        print_line(f"both together: {both}")


def composed_document(released: Release) -> dict[str, Any]:
    """The same for programs; nothing where a release builds on no other one."""
    from reticent.protect.released_encoder import composed_guarantee

    used, both = released.terms.used, composed_guarantee(released)
    if used is None or both is None:
        return {}
    return {
        f"{used.noun}_guarantee": used.guarantee.to_dict(),
        "composed_guarantee": both.to_dict(),
    }


def refuse_other_encoder(released: Release, named: str | None) -> None:
    """Queries go through the released encoder that a model was made on, and no other."""
    from reticent.protect.released_encoder import encoder_from, fingerprint_of

    used = released.terms.encoder
    if used is None:
        return
    if named is None:
        print_warning(
            f"the model was made on features of a released encoder ({used.recipe}): say --encoder,"
            " unless the queries are its features already"
        )
        return
    release = getattr(encoder_from(named), "release", None)
    if release is None or fingerprint_of(release) != used.fingerprint:
        raise InputError(f"--encoder must be the one that the model was made on, got {named}")


def _noise(released: Release) -> str:
    scales = ", ".join(f"{name} {rounding.scale_text(s)}" for name, s in released.scales.items())
    penalty = released.recipe.to_dict().get("penalty")
    decay = "" if penalty is None else f", penalty {penalty:.6g}"
    return f"{released.recipe.name}: {released.mechanism} noise of scales {scales}{decay}"


def print_assumptions(claim: Guarantee) -> None:
    """The two lists that every proven claim rests on."""
    print_line("checked by the code:", detail=True)
    for line in claim.checked:
        print_line(f"  - {line}", detail=True)
    print_line("stated by you:", detail=True)
    for line in claim.stated:
        print_line(f"  - {line}", detail=True)
