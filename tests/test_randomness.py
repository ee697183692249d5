import copy
import os
import pickle
import warnings

import numpy as np
import pytest

from reticent.randomness import SecureBits, seeded


def in_child(work):
    """What ``work()`` returns (an array of uint64) in a forked child."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the test process has threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, work().tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = np.frombuffer(pipe.read(), dtype=np.uint64)
    os.waitpid(child, 0)
    return answer


@pytest.mark.parametrize("count", [0, 1, 2, 16383, 16384, 16385, 40000])
def test_words_are_many_and_different(count):
    words = SecureBits().words(count)
    assert words.dtype == np.uint64
    assert words.shape == (count,)
    assert np.unique(words).size == count


def test_every_bit_of_a_word_is_fair():
    bits = np.unpackbits(SecureBits().words(200_000).view(np.uint8)).reshape(-1, 64)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 7 * 0.5 / np.sqrt(len(bits))


def test_two_objects_never_share_a_stream():
    assert np.intersect1d(SecureBits().words(1000), SecureBits().words(1000)).size == 0


@pytest.mark.parametrize("count", [0, 1, 7, 64, 65, 1000])
def test_extra_bits_fill_their_range(count):
    bits = SecureBits()
    numbers = [bits.extra_bits(count) for _ in range(60)]
    assert all(0 <= number < 2**count for number in numbers)
    assert max(number.bit_length() for number in numbers) == count


def test_a_child_that_inherits_an_object_takes_a_new_key():
    held = SecureBits()
    held.words(5)
    streams = [in_child(lambda: held.words(64)) for _ in range(2)]
    assert all(stream.size == 64 for stream in streams)
    streams.append(held.words(64))
    assert np.unique(np.concatenate(streams)).size == 3 * 64


def test_the_two_kinds_of_randomness_do_not_mix():
    with pytest.raises(TypeError):
        SecureBits(7)
    with pytest.raises(TypeError):
        seeded(SecureBits())


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_secure_bits_are_not_duplicated(duplicate):
    with pytest.raises(TypeError, match="must not be copied"):
        duplicate(SecureBits())


def test_equal_identities_give_equal_streams():
    assert (seeded("fold", 3).random(50) == seeded("fold", 3).random(50)).all()


def test_different_identities_give_different_streams():
    identities = [(), (1,), ("1",), (1, 2), (12,), ("a", "b"), ("ab",), ("a", 1), ("a1",), (-1,)]
    firsts = [int(seeded(*identity).integers(2**62)) for identity in identities]
    assert len(set(firsts)) == len(identities)


def test_a_stream_stays_the_same_from_version_to_version():
    assert seeded("reticent", 2022).integers(2**32, size=3).tolist() == [
        153277073,
        626054090,
        3140812803,
    ]


@pytest.mark.parametrize("part", [1.5, None, b"a"])
def test_an_identity_is_made_of_whole_numbers_and_texts(part):
    with pytest.raises(TypeError):
        seeded(part)
