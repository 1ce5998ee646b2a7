"""The labelling page: a learner asks, people answer in a browser."""

from mercer.active.serving.samples import SVG
from mercer.active.serving.server import Labelling, serve

__all__ = ["SVG", "Labelling", "serve"]
