"""How a sample becomes something to look at: a description in JSON that the page draws."""

import base64
import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer.data import Graph, RowBlocks, Sequences, Series, Tree
from mercer.data.layout import graph_places, tree_places
from mercer.kernels.samples import n_samples

__all__ = ["SVG", "Shown", "picture", "sample_at"]

# More than this nobody looks at; the page says how much is left out.
MOST_ROWS = 200
MOST_LETTERS = 20_000
MOST_SYMBOLS = 2_000
MOST_NODES = 300
MOST_POINTS = 1_000
MOST_PIXELS = 1_024  # on a side

# DNA, proteins, bits, with gaps and stops. Anything else is read in one piece: words, SMILES, addresses.
SEQUENCE = re.compile(r"[A-Za-z0-9*-]+")


class SVG:
    """A drawing that is shown as it is: what `show` returns for samples that have a picture of their own.

    The page loads it as an image, so that scripts in it do not run and links in it are not followed.

    Parameters
    ----------
    text : str
        A whole SVG document.

    Examples
    --------
    >>> from mercer.active import SVG
    >>> SVG('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle cx="1" cy="1" r="1"/></svg>')
    SVG(93 characters)
    """

    def __init__(self, text: str):
        if not isinstance(text, str) or "<svg" not in text:
            raise ValueError(f"text must be an SVG document, '<svg ...>...</svg>', got {_short(text)}.")
        self.text = text

    def __repr__(self) -> str:
        return f"SVG({len(self.text)} characters)"


class Shown:
    """The pictures of the samples of a pool, by their numbers.

    Parameters
    ----------
    pool : samples
        In any container that a kernel takes.
    show : callable, samples or None
        A function of a sample, or what to look at instead of the samples: as many things, in the same order.
    """

    def __init__(self, pool: Any, show: Any = None):
        self._convert: Callable[[Any], Any] | None = None
        self._samples = pool
        if callable(show):
            self._convert = show
        elif show is not None:
            if isinstance(show, str | bytes) or not (hasattr(show, "__getitem__") or hasattr(show, "shape")):
                raise TypeError(f"show must be a function of a sample, or samples to show, got {_short(show)}.")
            if n_samples(show) != n_samples(pool):
                raise ValueError(
                    f"show must hold as many samples as the pool, {n_samples(pool)}, got {n_samples(show)}."
                )
            self._samples = show
        if isinstance(self._samples, Sequences):
            raise TypeError("Packed sequences do not keep their symbols; give the strings themselves as show.")

    def __call__(self, i: int) -> dict[str, Any]:
        """The picture of sample i."""
        sample = sample_at(self._samples, i)
        if self._convert is not None:
            return picture(self._convert(sample), f"show must return {KINDS}; for sample {i} it returned ")
        if isinstance(self._samples, Series):
            return _series(sample)
        try:
            return picture(sample)
        except TypeError:
            return _text(repr(sample))


def sample_at(samples: Any, i: int) -> Any:
    """Sample i: an object of a sequence, a row of an array; a row of a table or of a sparse matrix as a dict."""
    if isinstance(samples, Mapping):
        return {name: sample_at(column, i) for name, column in samples.items()}
    if isinstance(samples, RowBlocks):
        return sample_at(samples[np.array([i])], 0)
    if isinstance(samples, Series):
        return samples.entries[samples.starts[i] : samples.starts[i + 1]]
    if issparse(samples):
        row = samples[[i]].tocoo()
        return {f"x{j}": value for j, value in sorted(zip(row.col.tolist(), row.data.tolist(), strict=True)) if value}
    if hasattr(samples, "iloc"):
        return {name: samples[name].iloc[i] for name in samples.columns} if samples.ndim == 2 else samples.iloc[i]
    if hasattr(samples, "iter_rows"):  # a polars frame
        return samples.row(i, named=True)
    if getattr(getattr(samples, "dtype", None), "names", None):
        return {name: samples[name][i] for name in samples.dtype.names}
    return samples[i]


KINDS = "a str, a number, a sequence, a dict, an array, a Graph, a Tree or an SVG"


def picture(value: Any, refusal: str = "") -> dict[str, Any]:
    """What the page is to draw.

    Parameters
    ----------
    value : object
        A str is a sequence if it holds nothing but ASCII letters, digits, ``-`` and ``*``, else a text; a dict, and an
        array of one axis, a table; an array of two axes, or of three with 1, 3 or 4 colours, an image; a list or tuple
        symbols, or a table if all are numbers.
    refusal : str
        The beginning of the message if it is none of these.

    Returns
    -------
    dict
        Its ``"kind"``, and what this kind needs; numbers, strings and lists alone.
    """
    if isinstance(value, SVG):
        return {"kind": "svg", "data": _base64(value.text.encode("utf-8"))}
    if isinstance(value, Graph):
        return _graph(value)
    if isinstance(value, Tree):
        return _tree(value)
    if isinstance(value, str):
        return _sequence(value) if SEQUENCE.fullmatch(value) else _text(value)
    if isinstance(value, bytes):
        return _symbols([f"{byte:02x}" for byte in value])
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return _text(_told(value))
    if isinstance(value, Mapping):
        return _table(value)
    if isinstance(value, set | frozenset):
        return _symbols(sorted(map(str, value)))
    if isinstance(value, list | tuple):
        if value and all(isinstance(v, float | int | np.number) for v in value):
            return _table({f"x{j}": v for j, v in enumerate(value)})
        return _symbols([str(v) for v in value])
    if hasattr(value, "shape") and hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.ndim == 0:
            return picture(array.item(), refusal)
        if array.ndim == 1:
            if array.dtype.kind in "biuf":
                return _table({f"x{j}": v for j, v in enumerate(array)})
            return _symbols([str(v) for v in array])
        if array.dtype.kind in "biuf" and array.size and (array.ndim == 2 or array.shape[2:] in ((1,), (3,), (4,))):
            return _image(array)
        raise TypeError(
            f"{refusal}an array of shape {array.shape} and dtype {array.dtype}; "
            "an image has the shape (height, width) or (height, width, 1, 3 or 4 colours), and real numbers."
        )
    raise TypeError(f"{refusal or f'A sample to show must be {KINDS}, got '}{_short(value)}.")


def _text(text: str) -> dict[str, Any]:
    return {"kind": "text", "text": text[:MOST_LETTERS], "more": max(0, len(text) - MOST_LETTERS)}


def _sequence(letters: str) -> dict[str, Any]:
    return {"kind": "sequence", "letters": letters[:MOST_LETTERS], "more": max(0, len(letters) - MOST_LETTERS)}


def _symbols(symbols: list[str]) -> dict[str, Any]:
    return {"kind": "symbols", "symbols": symbols[:MOST_SYMBOLS], "more": max(0, len(symbols) - MOST_SYMBOLS)}


def _table(row: Mapping[Any, Any]) -> dict[str, Any]:
    cells = [[str(name), _told(value)] for name, value in list(row.items())[:MOST_ROWS]]
    return {"kind": "table", "rows": cells, "more": max(0, len(row) - MOST_ROWS)}


def _series(values: np.ndarray) -> dict[str, Any]:
    step = -(-len(values) // MOST_POINTS)
    lines = np.atleast_2d(values.T)[:, :: max(1, step)]
    return {"kind": "series", "lines": lines.tolist(), "length": len(values)}


def _graph(graph: Graph) -> dict[str, Any]:
    if graph.n_nodes > MOST_NODES:
        counts = Counter(map(str, graph.node_labels or ()))
        rows = {f"nodes labelled {label}": count for label, count in counts.most_common()}
        return _table({"nodes": graph.n_nodes, "edges": graph.n_edges, **rows})
    labels = graph.node_labels or graph.names or range(graph.n_nodes)
    return {
        "kind": "graph",
        "places": graph_places(graph).round(3).tolist(),
        "labels": [str(label) for label in labels],
        "edges": graph.edges.tolist(),
        "edge_labels": [str(label) for label in graph.edge_labels or ()],
        "directed": bool(graph.directed),
    }


def _tree(tree: Tree) -> dict[str, Any]:
    if tree.n_nodes > MOST_NODES:
        return _text(str(tree))
    places, edges, labels = tree_places(tree)
    return {"kind": "tree", "places": places.round(3).tolist(), "labels": [str(v) for v in labels], "edges": edges}


def _image(pixels: np.ndarray) -> dict[str, Any]:
    step = -(-max(pixels.shape[:2]) // MOST_PIXELS)
    pixels = pixels[::step, ::step]
    height, width = pixels.shape[:2]
    return {"kind": "image", "png": _base64(_png(_grey_levels(pixels))), "width": width, "height": height}


def _grey_levels(pixels: np.ndarray) -> np.ndarray:
    """Pixels as bytes: bytes as they are, truth as black and white, [0, 1] as it is, all else from least to largest."""
    if pixels.dtype == np.uint8:
        return pixels
    values = np.nan_to_num(pixels.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = values.min(), values.max()
    if low < 0.0 or high > 1.0:
        values = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return np.rint(255.0 * values).astype(np.uint8)


def _png(levels: np.ndarray) -> bytes:
    """A PNG file of bytes of shape (height, width) or (height, width, colours) [PNG, W3C 2003, section 11]."""
    height, width = levels.shape[:2]
    colours = levels.size // (height * width)
    lines = np.zeros((height, 1 + width * colours), dtype=np.uint8)  # each begins with its filter: none
    lines[:, 1:] = levels.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[colours], 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines.tobytes())), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _told(value: Any) -> str:
    """A value of a table in a few characters."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return str(value)[:MOST_LETTERS]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
