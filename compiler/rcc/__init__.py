"""A reproducible recipe compiler: recipe, cluster and lock in, locked artifacts out."""

__version__ = "0.1.0"
