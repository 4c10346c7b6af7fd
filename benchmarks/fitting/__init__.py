"""Training and evaluation of the weights that ship with the package."""
