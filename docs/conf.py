"""Sphinx configuration: the build needs no network, and a warning is an error."""

import mercer

project = "mercer"
author = "The mercer developers"
copyright = "2026, The mercer developers"
version = release = mercer.__version__

extensions = [
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "literal"

# One page per room, from its __all__, and one page per public name (see _templates/autosummary).
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_theme_options = {"navigation_with_keys": False, "show_prev_next": False}
html_show_sourcelink = False


def skip_foreign_members(app, what, name, obj, skip, options):
    """Leave out what machines and kernels inherit from scikit-learn, whose pages document it."""
    return skip or not (getattr(obj, "__module__", None) or "mercer").startswith("mercer")


def setup(app):
    app.connect("autodoc-skip-member", skip_foreign_members)
