"""Sphinx configuration. Neither the build nor the pages need a network, and a warning is an error."""

import inspect
import json
import os
import re
import sys
from pathlib import Path

from docutils import nodes

import mercer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # for the benchmarks, which are not installed

project = "mercer"
author = "The mercer developers"
copyright = "2026, The mercer developers"
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence"]
default_role = "literal"

# One page per room, from its __all__, and one page per public name (see _templates/autosummary).
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# Data of some studies cannot come with the package (mercer.datasets.load_dataset): it may lie beside the project.
BESIDE = Path(__file__).parents[2] / "shared" / "datasets"
if BESIDE.is_dir():
    os.environ.setdefault("MERCER_DATASETS", str(BESIDE))

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "within_subsection_order": "ExampleTitleSortKey",
    "show_signature": False,
    "write_computation_times": False,
}

# The pictures of the guide, each with the code that makes it.
plot_include_source = True
plot_html_show_source_link = plot_html_show_formats = False
plot_formats = [("png", 100)]
plot_rcparams = {"figure.figsize": (6.0, 4.0)}

# A reference that leads nowhere is a warning, but for those to libraries whose documentation is not here.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(functools|numpy|scipy|sklearn)\..*")]

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is; without it the theme complains
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
}
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_sidebars = {page: [] for page in ("benchmarks", "changelog", "tutorial")}  # one page, nothing to navigate
html_show_sourcelink = False


# "C. Campbell" at the start of a reference is an author, and not the third item of a list.
INITIAL = re.compile(r"^(\s*\.\. \[[^]]+\] )(?=[A-Z]\. )")


def escape_initials(lines):
    lines[:] = [INITIAL.sub(r"\1\\", line) for line in lines]


def benchmark_lines():
    """What the page on benchmarks shows, by the marks that stand for it."""
    from benchmarks.report import missed, table

    report = json.loads((HERE.parent / "benchmarks" / "results" / "latest.json").read_text())
    speed = (HERE / "design" / "speed.rst").read_text()
    return {"<!-- bench:table -->": table(report, complete=True), "<!-- bench:missed -->": missed(speed)}


def read_page(app, name, source):
    if name == "benchmarks":
        for mark, lines in benchmark_lines().items():
            source[0] = source[0].replace(mark, "\n".join(lines))
    lines = source[0].split("\n")
    escape_initials(lines)
    source[0] = "\n".join(lines)


def read_docstring(app, what, name, obj, options, lines):
    escape_initials(lines)


def skip_foreign_members(app, what, name, obj, skip, options):
    """Leave out the methods that machines and kernels inherit from scikit-learn, whose pages document them."""
    return skip or (inspect.isroutine(obj) and not str(getattr(obj, "__module__", None)).startswith("mercer"))


def find_in_room(app, env, node, shown):
    """What is known by the name that it has in ``mercer`` itself has its page in a room."""
    name = node["reftarget"].removeprefix("mercer.")
    if room := mercer._ROOM_OF.get(name):
        target = f"mercer.{room}.{name}"
        return env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, node["reftype"], target, node, shown)
    return None


def quote_from_texts(app, page, template, context, doctree):
    if page == "search":
        app.add_js_file("search.js")


# What the gallery puts around the text of a page.
AROUND = {"sphx-glr-download-link-note", "sphx-glr-footer"}


def is_text(node):
    return not isinstance(node, nodes.comment) and not AROUND & set(node.get("classes", []))


def text_of(app, page):
    tree = app.env.get_doctree(page)
    for other in [node for node in tree.findall(nodes.Element) if not is_text(node)]:
        other.parent.remove(other)
    return tree.astext()


def write_texts(app, error):
    """What the search quotes from where there is no server (_static/search.js)."""
    if error is None and app.builder.name == "html":
        texts = {page: text_of(app, page) for page in sorted(app.env.found_docs)}
        Path(app.outdir, "_static", "texts.js").write_text(f"const TEXTS = {json.dumps(texts)};\n")


def setup(app):
    app.connect("source-read", read_page)
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect("missing-reference", find_in_room)
    app.connect("html-page-context", quote_from_texts)
    app.connect("build-finished", write_texts)
