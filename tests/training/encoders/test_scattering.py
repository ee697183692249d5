"""Wavelet scattering against its definition in space, with slow numpy sums and no torch."""

import math

import numpy as np
import pytest

from reticent.data import load
from reticent.training.encoders.scattering import (
    ANGLES,
    MAPS,
    Scattering,
    filters,
    low_pass,
    morlet,
    pooling,
)
from reticent.validation import InputError

RNG = np.random.default_rng(0)
WHOLE = Scattering(grid=None)


def maps(image):
    """Of one grey image, (81, places, places)."""
    pixels = np.asarray(image, dtype=np.float32)[None, :, :, None]
    return squares(WHOLE.encode(pixels)[0].reshape(WHOLE.shape(*pixels.shape[1:])))


def squares(features):
    """The means whose signed roots the features are."""
    return features * np.abs(features)


# The definition, in space: a wave under a Gaussian at whole pixels, wrapped around a torus.


def wrapped(shape, function):
    """The sum of a function of (y, x) over five periods in each direction."""
    y, x = (np.arange(-2 * side, 3 * side) for side in shape)
    values = function(y[:, None], x[None, :])
    return values.reshape(5, shape[0], 5, shape[1]).sum(axis=(0, 2))


def gabor(shape, width, theta, frequency, slant):
    def value(y, x):
        along = y * math.cos(theta) + x * math.sin(theta)
        across = x * math.cos(theta) - y * math.sin(theta)
        bell = np.exp(-(along**2 + (slant * across) ** 2) / (2 * width**2))
        return bell * np.exp(1j * frequency * along) * slant / (2 * math.pi * width**2)

    return wrapped(shape, value)


def wavelet(shape, scale, theta):
    width, frequency = 0.8 * 2**scale, 0.75 * math.pi / 2**scale
    wave = gabor(shape, width, theta, frequency, 0.5)
    bell = gabor(shape, width, theta, 0.0, 0.5)
    return wave - wave.sum() / bell.sum() * bell


def convolved(signal, kernel):
    return np.fft.ifft2(np.fft.fft2(signal) * np.fft.fft2(kernel))


def by_definition(image):
    """S₀, S₁ and S₂ of one plane in double precision."""
    sides = [4 * (side // 4 + 2) for side in image.shape]
    before = [(padded - side) // 2 for padded, side in zip(sides, image.shape, strict=True)]
    after = [padded - side - b for padded, side, b in zip(sides, image.shape, before, strict=True)]
    x = np.pad(image, list(zip(before, after, strict=True)), mode="reflect")
    thetas = [(3 - k) * math.pi / 8 for k in range(8)]
    phi = gabor(sides, 1.6, 0.0, 0.0, 1.0).real

    def smooth(signal):
        return convolved(signal, phi).real[4:-4:4, 4:-4:4]

    def smooth_half(signal):
        """φ by its spectrum, cut to the frequencies that half the samples hold."""
        spectrum = np.fft.fft2(phi)
        for axis, side in enumerate(sides):
            spectrum = np.delete(spectrum, np.arange(side // 4, 3 * side // 4), axis=axis)
        return np.fft.ifft2(np.fft.fft2(signal) * spectrum).real[2:-2:2, 2:-2:2]

    fine = [abs(convolved(x, wavelet(sides, 0, theta))) for theta in thetas]
    coarse = [wavelet(sides, 1, theta) for theta in thetas]
    return np.array(
        [smooth(x)]
        + [smooth(u) for u in fine]
        + [smooth_half(abs(convolved(x, psi))[::2, ::2]) for psi in coarse]
        + [smooth_half(abs(convolved(u, psi))[::2, ::2]) for u in fine for psi in coarse]
    )


@pytest.mark.parametrize("shape", [(28, 28), (32, 32), (8, 8), (17, 30)])
def test_it_is_the_definition(shape):
    image = RNG.random(shape).astype(np.float32)
    expected = by_definition(image.astype(np.float64))
    assert expected.shape == (MAPS, shape[0] // 4, shape[1] // 4)
    np.testing.assert_allclose(maps(image), expected, rtol=0, atol=1e-6)
    assert np.abs(expected[1:]).min() > 0  # waves at every scale and orientation were seen


def test_colours_are_planes_and_cells_are_means():
    images = RNG.random((2, 32, 32, 3)).astype(np.float32)
    whole = squares(WHOLE.encode(images)).reshape(2, 3, MAPS, 8, 8)
    for colour in range(3):
        np.testing.assert_allclose(whole[1, colour], maps(images[1, :, :, colour]), atol=1e-6)
    cells = whole.reshape(2, 3, MAPS, 4, 2, 4, 2).mean(axis=(4, 6))
    features = Scattering().encode(images)
    np.testing.assert_allclose(features, np.sqrt(cells).reshape(2, -1), atol=1e-6)
    np.testing.assert_allclose(Scattering().encode(-images)[:, :16], -features[:, :16], atol=1e-6)
    assert Scattering().encode(images).dtype == np.float32


def test_cells_cover_all_places_evenly():
    expected = [[1, 1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0]]
    expected += [[0, 0, 0, 0, 0, 1, 1]]
    assert np.array_equal(pooling(7, 4) > 0, np.array(expected, dtype=bool))
    for places, cells in ((7, 4), (8, 4), (5, 3), (2, 2), (9, 1)):
        np.testing.assert_allclose(pooling(places, cells).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("shape", "features"),
    [((28, 28, 1), 81 * 16), ((32, 32, 3), 243 * 16), ((8, 8, 1), 81 * 4), ((9, 40, 3), 243 * 8)],
)
def test_the_number_of_features(shape, features):
    assert Scattering().encode(np.zeros((1, *shape), dtype=np.uint8)).shape == (1, features)
    assert math.prod(Scattering().shape(*shape)) == features


def test_a_row_is_a_function_of_its_image_to_the_last_bit():
    images = RNG.integers(0, 256, (9, 32, 32, 3), dtype=np.uint8)
    encoder = Scattering()
    rows = encoder.encode(images)
    order = RNG.permutation(9)
    assert np.array_equal(encoder.encode(images[order]), rows[order])
    assert np.array_equal(encoder.encode(images[1:]), rows[1:])
    assert np.array_equal(encoder.encode(np.asfortranarray(images[4:5])), rows[4:5])
    assert np.array_equal(encoder.encode(images.astype(np.float32) / np.float32(255)), rows)
    for shift in range(1, 9):  # images that begin at any byte
        moved = np.empty(images[:1].size + shift, dtype=np.uint8)[shift:].reshape(images[:1].shape)
        moved[:] = images[:1]
        assert np.array_equal(encoder.encode(moved), rows[:1])


def test_a_constant_image_has_a_mean_and_nothing_else():
    for side, value in ((8, 1.0), (28, 0.25)):
        found = maps(np.full((side, side), value))
        np.testing.assert_allclose(found[0], value, atol=1e-6)
        assert np.abs(found[1:]).max() < 1e-6


def test_four_pixels_are_one_place_and_one_pixel_is_little():
    image = np.zeros((48, 48))
    image[16:28, 18:30] = RNG.random((12, 12))
    found = maps(image)
    np.testing.assert_allclose(maps(np.roll(image, 4, axis=0))[:, 1:], found[:, :-1], atol=1e-6)
    np.testing.assert_allclose(maps(np.roll(image, 4, axis=1))[..., 1:], found[..., :-1], atol=1e-6)
    moved = np.roll(image, 1, axis=1)
    change = np.linalg.norm(maps(moved)[1:] - found[1:]) / np.linalg.norm(found[1:])
    assert change < 0.5 * np.linalg.norm(moved - image) / np.linalg.norm(image)


def test_a_mirrored_image_turns_the_orientations():
    """(y, x) → (x, y) takes the angle θ to π/2 − θ: orientation k becomes 2 − k, modulo 8."""
    image = RNG.random((32, 32))
    found, mirrored = maps(image), maps(image.T)
    turned = (2 - np.arange(ANGLES)) % ANGLES
    first = 1 + np.arange(2 * ANGLES).reshape(2, ANGLES)
    second = 1 + 2 * ANGLES + np.arange(ANGLES**2).reshape(ANGLES, ANGLES)
    for before, after in (
        (np.array([0]), np.array([0])),
        (first, first[:, turned]),
        (second, second[np.ix_(turned, turned)]),
    ):
        expected = np.swapaxes(found[before.ravel()], 1, 2)
        np.testing.assert_allclose(mirrored[after.ravel()], expected, atol=1e-6)
    assert np.abs(mirrored - np.swapaxes(found, 1, 2)).max() > 1e-3


@pytest.mark.parametrize("scale", [0, 1])
@pytest.mark.parametrize("angle", range(ANGLES))
def test_a_wave_is_found_at_its_scale_and_orientation(scale, angle):
    theta, frequency = (3 - angle) * math.pi / ANGLES, 0.75 * math.pi / 2**scale
    y, x = np.mgrid[:32, :32]
    wave = np.cos(frequency * (y * math.cos(theta) + x * math.sin(theta)))
    centre = maps(wave)[1 : 1 + 2 * ANGLES, 2:-2, 2:-2].mean(axis=(1, 2))
    assert centre.argmax() == scale * ANGLES + angle


def test_the_filters_keep_energy():
    """Littlewood–Paley: φ̂² and the wavelets' mean squares add up to 1 at most, at 0 exactly."""
    side = 40
    spectra = np.array([morlet((side, side), s, k) for s in (0, 1) for k in range(ANGLES)])
    opposite = np.roll(spectra[:, ::-1, ::-1], (1, 1), axis=(1, 2))
    bell = np.fft.fft2(gabor((side, side), 1.6, 0.0, 0.0, 1.0)).real
    total = bell**2 + ((spectra**2 + opposite**2) / 2).sum(axis=0)
    assert total.max() == pytest.approx(1.0, abs=1e-9)
    assert total[0, 0] == total.max()
    assert total.min() > 0.1
    for step in (1, 2):  # sampling each fourth pixel keeps step/4 of the energy
        assert np.linalg.norm(low_pass(side, step), 2) ** 2 <= step / 4


def test_sixteen_times_the_energy_of_the_maps_is_at_most_that_of_the_image():
    corner = np.zeros((32, 32))
    corner[0, 0] = 1.0
    y, x = np.mgrid[:32, :32]
    images = [
        RNG.standard_normal((32, 32)),
        np.ones((32, 32)),
        corner,
        np.cos(2.2 * y),
        (-1.0) ** x,
    ]
    images += [load("mnist5k").images[0, :, :, 0] / 255]
    for image in images:
        left, _, above, _ = filters(*image.shape).padding
        padded = np.pad(image, ((above, above), (left, left)), mode="reflect")
        assert 16 * (maps(image).astype(np.float64) ** 2).sum() <= (padded**2).sum()


def test_fingerprints_tell_grids_apart():
    assert Scattering().fingerprint() == Scattering(grid=4).fingerprint()
    prints = {Scattering(grid=grid).fingerprint() for grid in (None, 1, 4)}
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 28, 28)), "images must have shape"),
        (np.zeros((2, 28, 28, 2)), "channels must be 1 or 3, got 2"),
        (np.zeros((2, 7, 28, 1)), "height must be"),
        (np.full((1, 8, 8, 1), np.nan), "images must be finite"),
        (np.full((1, 8, 8, 1), 3e38), "images must be small enough to be filtered in float32"),
        (np.zeros((1, 8, 8, 1), dtype=np.int64), "images must be uint8 or real numbers"),
    ],
)
def test_refusals_are_one_line(images, message):
    with pytest.raises(InputError, match=message) as caught:
        Scattering().encode(images)
    assert "\n" not in str(caught.value)


def test_a_grid_has_cells():
    with pytest.raises(InputError, match="grid must be"):
        Scattering(grid=0)
