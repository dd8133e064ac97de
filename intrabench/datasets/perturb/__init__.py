"""Perturbations of images, and data sets whose images are perturbed."""
