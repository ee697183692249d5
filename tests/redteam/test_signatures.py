"""Attacks on signatures: other keys, other bytes, other files, and keys that lie open.

Each goes red when its defence is taken out.
"""

import json
import os
import stat

import numpy as np
import pytest

from reticent.protect import load, release_weights, save, verify
from reticent.protect.sealed_pair import paths_of, signature_path
from reticent.protect.signing import make_keys, read_public_key, read_signer
from reticent.results import read_results
from reticent.training import SoftmaxHead
from reticent.validation import InputError
from tests.redteam.forging import LIE, MISMATCH, one_line, public_texts, rows
from tests.report.sample import real_release


@pytest.fixture
def keys(tmp_path):
    return make_keys(tmp_path / "mine"), make_keys(tmp_path / "other")


@pytest.fixture
def signed(head, tmp_path, keys):
    save(head, tmp_path / "own", sign=read_signer(keys[0][0]))
    return tmp_path / "own"


def test_a_signature_says_whose_files_they_are(command, signed, keys):
    (private, public), (_, other) = keys
    name = read_signer(private).name
    code, out, _ = command("verify", signed, "--key", public)
    assert (code, f"signed by your key {name}" in " ".join(out.split())) == (0, True)
    code, out, _ = command("verify", signed)
    assert (code, f"--key says whether by yours: {name}" in " ".join(out.split())) == (0, True)
    code, out, _ = command("verify", signed, "--key", other)
    assert (code, " ".join(out.split())) == (
        MISMATCH,
        f"does not hold: signed by another key, {name}",
    )
    code, out, _ = command("card", "--released", signed, "--public")
    assert f"signed by the holder of the Ed25519 key {name}" in out


def test_without_a_signature_everything_says_so(command, released, keys):
    code, out, _ = command("verify", released)
    assert (code, "unsigned: the files do not say whose claim it is" in out) == (0, True)
    assert json.loads(command("verify", released, "--json")[1])["signed_by"] is None
    code, out, _ = command("verify", released, "--key", keys[0][1])
    assert (code, "does not hold: unsigned, and a signature" in out) == (MISMATCH, True)
    assert "**Whose word:** unsigned: " in command("card", "--released", released, "--public")[1]


def test_a_signature_that_was_taken_away_is_missed(command, signed, keys):
    signature_path(signed).unlink()
    assert command("verify", signed, "--key", keys[0][1])[0] == MISMATCH


def test_a_signature_is_of_these_bytes_alone(command, head, signed, keys, tmp_path):
    certificate = paths_of(signed).certificate
    whole = certificate.read_bytes()
    certificate.write_bytes(whole + b"\n")  # the same values, the same seals
    code, out, _ = command("verify", signed, "--key", keys[0][1])
    assert (code, out) == (MISMATCH, "does not hold: the signature is not one of these files\n")
    assert command("verify", signed)[0] == MISMATCH
    certificate.write_bytes(whole)
    assert command("verify", signed, "--key", keys[0][1])[0] == 0
    content = paths_of(signed).weights.read_bytes()
    paths_of(signed).weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "the signature is not one of these files" in verify(signed).problems
    X, y = rows()
    again = SoftmaxHead(penalty=0.1, classes=["no", "yes"], records=60)
    again = again.fit(X, np.array(["no", "yes"])[y])
    save(release_weights(again, epsilon=2.0, delta=1e-6, relation="add-remove"), tmp_path / "b")
    signature_path(tmp_path / "b").write_bytes(signature_path(signed).read_bytes())
    assert verify(tmp_path / "b").problems == ("the signature is not one of these files",)
    with pytest.raises(InputError, match="the signature is not one of these files"):
        load(tmp_path / "b")


def test_another_hand_cannot_sign_in_a_name(signed, keys):
    """The forger signs with a key of their own and types the public key of the owner."""
    (_, public), (other, _) = keys
    path = signature_path(signed)
    own, places = json.loads(path.read_text()), paths_of(signed)
    parts = places.certificate.read_bytes(), places.weights.read_bytes()
    forged = json.loads(read_signer(other).document(*parts)) | {"key": own["key"]}
    path.write_text(json.dumps(forged))
    found = verify(signed, key=read_public_key(public))
    assert found.problems == ("the signature is not one of these files",)
    assert found.signed_by is None


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d | {"format": "reticent-signature-9"},
        lambda d: d | {"note": LIE},
        lambda d: d | {"key": "AAAA"},
        lambda d: d | {"signature": "?"},
        lambda d: d | {"key": 5},
        lambda d: [d],
    ],
)
def test_what_is_no_signature_is_refused_in_one_line(command, signed, change):
    path = signature_path(signed)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    assert "own.signature.json must " in one_line(command, "verify", signed)


def test_a_later_release_without_a_key_takes_the_signature_with_it(head, signed):
    save(head, signed)
    assert not signature_path(signed).exists()
    assert verify(signed).holds


def test_keys_are_for_their_owner_and_are_not_written_over(command, tmp_path):
    old = os.umask(0)
    try:
        code, out, _ = command("keygen", tmp_path / "key")
    finally:
        os.umask(old)
    assert code == 0
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert read_signer(tmp_path / "key").name in out
    assert "PRIVATE" not in out
    before = (tmp_path / "key").read_bytes()
    assert "keys are not written over" in one_line(command, "keygen", tmp_path / "key")
    (tmp_path / "key").unlink()
    assert "keys are not written over" in one_line(command, "keygen", tmp_path / "key")
    (tmp_path / "key").write_bytes(before)
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(InputError, match="must be readable by its owner alone"):
        read_signer(tmp_path / "key")


def test_a_key_that_cannot_sign_ends_it_before_anything_is_spent(command, tmp_path):
    X, y = rows()
    np.savez(tmp_path / "t.npz", features=X, y=np.array(["a", "b"])[y])
    make_keys(tmp_path / "key")
    asked = ["--private", tmp_path / "t.npz", "--label", "y", "--classes", "a,b", "--records", 60,
             "--epsilon", "1", "--delta", "1e-5", "--relation", "add-remove"]  # fmt: skip
    protect = ["protect", *asked, "--learner", "class-means", "--out", tmp_path / "own"]
    run_it = ["run", *asked, "--bound", "1", "--test", tmp_path / "t.npz", "--out", tmp_path / "r"]
    for line in (protect, run_it):
        for bad in ("t.npz", "key.pub", "nowhere"):
            assert "must be" in one_line(command, *line, "--sign", tmp_path / bad)
    assert {one.name for one in tmp_path.iterdir()} == {"t.npz", "key", "key.pub"}
    code, out, _ = command(*protect, "--sign", tmp_path / "key")
    assert (code, "signed by SHA256:" in out) == (0, True)
    assert command("verify", tmp_path / "own", "--key", tmp_path / "key.pub")[0] == 0
    assert "public key (PEM)" in one_line(
        command, "verify", tmp_path / "own", "--key", tmp_path / "key"
    )


def test_the_page_of_a_signed_run_names_the_key(command, folder, keys):
    results = read_results(folder / "results.json")
    row = results.recommended
    release = real_release(row.learner, row.mechanism, row.claim.epsilon, row.claim.delta)
    save(release, folder / "head", sign=read_signer(keys[0][0]))
    for text in public_texts(command, folder):
        assert f"igned by the holder of the Ed25519 key {read_signer(keys[0][0]).name}" in text
        assert "nsigned" not in text
