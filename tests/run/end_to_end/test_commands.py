"""The command line against the list of the end-to-end audit: what can print *proven* is in it.

A new command, and a new option of one that releases, is red here until pairs say it or a line below
says why they need not.
"""

from collections import defaultdict

import pytest
import typer

from reticent.audit.end_to_end.pairs import audit_pair, combinations
from reticent.cli.app import app
from reticent.run import end_to_end_calls
from reticent.run.every_release import WHOLE_JOB, every_release
from reticent.validation import InputError

RELEASING = {"run", "protect", "train", "pretrain", "serve", "compare-protections"}
"""Commands whose own output holds a new guarantee."""
OF_A_FILE = "prints the claim of a release that another command made: read from a file, declared"
PUBLIC = "computes with public numbers alone: no record is read"
NO_NEW_GUARANTEE = {
    "demo": "run on the digits of scikit-learn: public records, whose job is that of run",
    "plan": PUBLIC,
    "calibrate": PUBLIC,
    "account": PUBLIC,
    "plan-answers": "fixes noise from the public numbers of a fit; serve answers by it",
    "fit": "writes a private head, promises nothing and says UNPROTECTED",
    "predict": OF_A_FILE,
    "export": OF_A_FILE,
    "verify": "computes the claim of a file again from its public numbers; it reads no record",
    "report": OF_A_FILE,
    "card": OF_A_FILE,
    "compare": "two documents of run side by side, with the grades that reading left them",
    "attack": "its figures are as private as the records; the target's claim is of a file",
    "audit": "lower bounds without noise; with --end-to-end it is the audit of protect itself",
    "reproduce": "studies on public data sets, by the functions that the list goes through",
    "keygen": "makes keys",
    "schema init": "a draft for its user; a schema that is read off records makes claims declared",
    "schema example": "made-up tables",
    "schema check": "counts of the user's own table, for the user; no claim",
    "client add": "names and keys of clients, no claim",
    "client key": "names and keys of clients, no claim",
    "client revoke": "names and keys of clients, no claim",
    "client limit": "names and keys of clients, no claim",
    "client list": "names and keys of clients, no claim",
    "client ask": "prints what the service of serve says, which is audited at its replies",
    "ledger show": "sums of charges that releases made",
    "ledger verify": "sums of charges that releases made",
    "ledger budget": "limits that its user sets",
    "ledger charge": "charges that its user says",
}
ALSO_SAID = {
    "how it is told": "--json --quiet --verbose",
    "where it is written, by whom": "--out --replace --sign",
    "what is charged, before records are seen": "--ledger --data-set --open-account",
    "how fast it is computed": "--jobs --backend --address",
    "columns by their public names, for the reader of all tables": "--features --drop",
}
"""Options of any command that pairs may leave out."""
OWN = {
    "run": {
        "as protect has it, on the same road to a release": "--schema --text --encoder"
        " --encoder-people --embedding --target-range --learner --prototypes",
        "makes the claim declared": "--records-from-data",
        "what is attacked and measured, after the release": "--public --test-is-public --seed"
        " --unbounded --fail-above",
        "as compare-protections has it, which has pairs of its own": "--compare-protections",
    },
    "protect": {
        "chooses a learner by public numbers, each of which is audited": "--prototypes",
        "public numbers of one recipe": "--public-map --seed --public",
    },
    "train": {
        "as protect has it, on the same road to a release": "--schema --encoder --encoder-people",
        "public numbers of the recipe": "--clip --learning-rate --momentum --optimiser --average"
        " --seed --augmentation --views",
        "makes the claim declared": "--fast",
        "goes on from a state of noisy answers alone": "--resume",
    },
    "pretrain": {
        "of public images, without a claim": "--data --width --restart --limit",
        "negatives that are public": "--public",
        "a public encoder by its name, as protect has it": "--encoder",
        "public numbers of the recipe": "--architecture --augmentation --temperature --projection"
        " --repulsion --coupling-share --root --views",
        "makes the claim declared": "--fast",
        "goes on from a state of noisy answers alone": "--resume",
    },
    "serve": {
        "as protect has it: features are made record by record": "--encoder",
        "how clients reach it, and what it watches": "--raw --keys --no-keys --name --host"
        " --workers --rate --public --augments --tls-cert --tls-key --behind-proxy",
    },
    "compare-protections": {
        "as protect has it, on the same road to a release": "--embedding --encoder",
        "each at the other δ, as --pure": "--and-pure",
        "how many shadows attack a release that was made": "--shadows",
    },
}
"""Options that one command's pairs leave out, with the reason."""


def registered():
    """Every command by the words that are typed, and its options."""

    def below(group, words=()):
        for name, found in group.commands.items():
            if hasattr(found, "commands"):
                yield from below(found, (*words, name))
            else:
                options = {one for part in found.params for one in part.opts if one[:2] == "--"}
                yield " ".join((*words, name)), options

    return dict(below(typer.main.get_command(app)))


COMMANDS = registered()


def test_every_command_is_audited_or_says_why_not():
    assert not RELEASING & set(NO_NEW_GUARANTEE)
    assert set(COMMANDS) == RELEASING | set(NO_NEW_GUARANTEE)


@pytest.fixture(scope="module")
def typed():
    """What pairs of the list type: options by command. Of most only the first steps are run."""
    found, steps = defaultdict(set), {"fit", "plan-answers", "client"}
    honest = end_to_end_calls._main()

    def main(words):
        command = " ".join(words[: 2 if words[0] == "client" else 1])
        found[command] |= {word.partition("=")[0] for word in words if word[:2] == "--"}
        if words[0] in steps or {"pretrain", "prototypes"} <= set(words):
            honest(words)
        raise InputError("typed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(end_to_end_calls, "_main", lambda: main)
        releases = every_release() | WHOLE_JOB
        for name in (one for one in releases if one.endswith("(command)")):
            for one in combinations({name: releases[name]}):
                for number in range(3 if one.format == "npz" and releases[name].embedded else 1):
                    audit_pair(releases[name], one, number)
    return found


@pytest.mark.slow
def test_the_pairs_type_every_command_that_releases(typed):
    assert set(typed) - set(NO_NEW_GUARANTEE) == RELEASING


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(RELEASING))
def test_every_option_is_typed_by_a_pair_or_named_here(typed, command):
    named = {one for text in OWN[command].values() for one in text.split()}
    everywhere = {one for text in ALSO_SAID.values() for one in text.split()} & COMMANDS[command]
    assert named | typed[command] | everywhere == COMMANDS[command]
    assert not named & (typed[command] | everywhere)
