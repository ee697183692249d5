"""Generative models: small ones, to be attacked. NOT private, by design."""

from reticent.training.generative.gan import GAN, GANSpec, GANStep, train_gan

__all__ = ["GAN", "GANSpec", "GANStep", "train_gan"]
