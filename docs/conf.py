"""Configuration of Sphinx."""

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path
from typing import Any

import suffice
from suffice.parameter_names import NamedParameters

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "suffice"
author = "The suffice developers"
copyright = "2026, the suffice developers"
extensions = [
    "figures",
    "links",
    "mathml",
    "myst_parser",
    "numpydoc",
    "pictures",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.json"]

html_theme = "pydata_sphinx_theme"
html_title = "suffice"
html_theme_options = {
    "footer_end": [],
    "header_links_before_dropdown": 13,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "show_prev_next": True,
}
html_sidebars = {page: [] for page in ("benchmarks", "getting-started", "index", "inference")}
html_context = {"default_mode": "auto"}
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
highlight_options = {"python": {"stripnl": True}}  # blocks end with an empty line, which doctest needs

copybutton_prompt_text = r">>> |\.\.\. |\$ "  # only lines with a prompt are copied, where there are any
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_copy_empty_lines = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
autodoc_typehints = "none"
suppress_warnings = ["ref.ref"]  # inherited methods refer to labels of scikit-learn's own site

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "subsection_order": [f"../examples/{name}" for name in ("regression", "classification", "generative", "sums")],
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "pictures.plain"),
    "filename_pattern": "/plot_",
    "ignore_pattern": r"demo\.py",
    "abort_on_example_error": True,
    "image_scrapers": "pictures.scrape_figures",
    "thumbnail_size": (420, 280),
    "download_all_examples": False,
    "min_reported_time": 5,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}


def warn_of_undocumented_names(app: Any, env: Any) -> None:
    """Warn of each public name of the package and its subpackages that the reference does not list."""
    from sphinx.util import logging  # imported here: doctest also imports this file, without Sphinx

    documented = {entry[0] for entry in env.get_domain("py").get_objects()}
    packages = [each.name for each in pkgutil.iter_modules(suffice.__path__, "suffice.") if each.ispkg]
    for package in ("suffice", *packages):
        for name in getattr(importlib.import_module(package), "__all__", ()):
            if not name.startswith("__") and documented.isdisjoint({f"suffice.{name}", f"{package}.{name}"}):
                logging.getLogger(__name__).warning("%s.%s is public, but not in the reference", package, name)


def show_constructor(
    app: Any, what: str, name: str, obj: Any, options: Any, shown: str | None, returned: str | None
) -> tuple[str, None] | None:
    """Return the parameters of a class whose ``__new__`` only checks their names, which autodoc would show instead."""
    from sphinx.util.inspect import stringify_signature

    if what != "class" or not issubclass(obj, NamedParameters):
        return None
    return stringify_signature(inspect.signature(obj), show_annotation=False, show_return_annotation=False), None


def setup(app: Any) -> None:
    app.connect("env-check-consistency", warn_of_undocumented_names)
    app.connect("autodoc-process-signature", show_constructor, priority=100)
