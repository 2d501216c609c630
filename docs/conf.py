"""The site's settings."""

project = "suffice"
author = "The suffice developers"
copyright = "2026, the suffice developers"
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
html_theme = "pydata_sphinx_theme"
html_title = "suffice"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
exclude_patterns = ["_build"]
autosummary_generate = True
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
autodoc_typehints = "none"
myst_heading_anchors = 3
suppress_warnings = ["ref.ref"]  # inherited methods refer to labels of scikit-learn's own site
html_sidebars = {
    page: []
    for page in ("guide", "models", "text", "benchmarks", "papers", "architecture", "contributing", "changelog")
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
