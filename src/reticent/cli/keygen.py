"""``reticent keygen``: a pair of keys, to say whose a release is."""

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line

Out = Annotated[Path, typer.Argument(metavar="KEY", help="The file for the private key.")]


def keygen(key: Out, json: Json = False) -> None:
    """Make a pair of Ed25519 keys: KEY, for your eyes alone, and KEY.pub for everybody.

    protect and run take KEY as --sign. Whoever got KEY.pub from you runs verify with --key KEY.pub.
    KEY has no password: it can be read by its owner alone, and nothing is written over.
    """
    from reticent.protect.signing import make_keys, read_signer

    private, public = make_keys(key)
    name = read_signer(private).name
    if json:
        print_json({"private": str(private), "public": str(public), "fingerprint": name})
        return
    print_line(f"private key, for its owner alone: {private}")
    print_line(f"public key, for everybody: {public}")
    print_line(f"fingerprint {name}")
