"""Settings of Sphinx: `sphinx-build -W --keep-going docs docs/_build/html`, or
`python -m tracegrad docs`. Nothing is fetched from the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "_ext"), str(ROOT)]
# Pages and pictures are the same wherever they are made, and leave nothing behind.
os.environ.update(TRACEGRAD_PROGRESS="0", MPLBACKEND="Agg")

import tracegrad  # noqa: E402 - found from the path above

project = "tracegrad"
author = "the tracegrad developers"
copyright = "the tracegrad developers"
version = release = tracegrad.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "docstrings",
    "repository_links",
]
exclude_patterns = ["_build", "_ext", "project/CITATION.cff"]
root_doc = "index"

# --- the pages that are written in Markdown
myst_enable_extensions = ["deflist", "attrs_inline"]
myst_heading_anchors = 3

# --- the reference
autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
maximum_signature_line_length = 88
add_module_names = False
templates_path = ["_templates"]

# --- the gallery: each example runs once, when the site is built
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # Run as a script: it has to set a variable before SciPy is imported.
    "filename_pattern": r"/examples/(?!scipy_and_sklearn|sharded_|hierarchical_model_mpi)\w+\.py$",
    "ignore_pattern": r"torch_autograd",
    "within_subsection_order": "gallery_rules.place_of",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "notebook_extensions": set(),
    "show_memory": False,
    "show_signature": False,
    "reset_modules": ("matplotlib", "gallery_rules.warnings_are_errors"),
    "reset_modules_order": "both",
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
}

# --- how it looks
smartquotes = False
default_role = "code"
html_theme = "pydata_sphinx_theme"
html_title = f"tracegrad {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# Of the many pages of single names the way up is in the line above: a tree beside each would take
# half of the time that the site takes.
html_sidebars: dict[str, list[str]] = {"api/names/*": []}
html_theme_options = {
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "collapse_navigation": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
