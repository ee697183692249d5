"""Per-example gradients of scale and shift after a normalisation, in one pass over the numbers.

Every image is read by itself, in an order that its shape alone decides: what it gives is a function
of the image. Sums are float64. A NaN or an infinity stays what it is.
"""

import numba
import numpy as np

from reticent.arrays import Array


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def group_norm_gradients(
    images: Array, gradients: Array, groups: int, epsilon: float
) -> tuple[Array, Array]:
    """(Σ g·x̂, Σ g) over the places of each image and channel, of arrays (n, channels, places).

    x̂ is x with mean 0 and variance 1 within the channels of a group.
    """
    count, channels, places = images.shape
    scales, shifts = np.empty((count, channels)), np.empty((count, channels))
    each = channels // groups
    for image in range(count):
        for start in range(0, channels, each):
            mean = 0.0
            for channel in range(start, start + each):
                for place in range(places):
                    mean += np.float64(images[image, channel, place])
            mean /= each * places
            variance = 0.0
            for channel in range(start, start + each):
                for place in range(places):
                    away = np.float64(images[image, channel, place]) - mean
                    variance += away * away
            unit = 1.0 / np.sqrt(variance / (each * places) + epsilon)
            for channel in range(start, start + each):
                product, total = 0.0, 0.0
                for place in range(places):
                    gradient = np.float64(gradients[image, channel, place])
                    product += gradient * (np.float64(images[image, channel, place]) - mean)
                    total += gradient
                scales[image, channel], shifts[image, channel] = product * unit, total
    return scales, shifts
