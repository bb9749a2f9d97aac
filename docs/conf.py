"""How Sphinx builds the site: ``make docs``."""

import importlib
import os
import re
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parent.parent)]

import resolvent  # noqa: E402 (after the path, so that it is this copy)

project = "resolvent"
author = "The resolvent developers"
project_copyright = author
version = release = resolvent.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "results",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.json", "gallery/*.zip"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore_regex = [
    # Inherited docstrings name what other projects document.
    (r"py:.*", r"(sklearn|numpy|np|scipy|matplotlib|pandas|narwhals|joblib)\..*"),
    (r"(py|std):.*", r"(Pipeline|array-like|metadata_routing|r2_score)"),
    (r"py:mod", r"resolvent\..*"),  # modules have no pages of their own
    (r"py:func", r"envelope"),  # in the summary of its class
]

# ---- pages ----------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
copybutton_exclude = ".linenos, .gp, .go"


def list_all_pages(app, docname, source):
    """Add to the user guide the pages that no list names yet."""
    if docname == "user_guide":
        pages = {path.stem: path.read_text("utf-8") for path in Path(__file__).parent.glob("*.md")}
        lists = re.findall(r"^```\{toctree\}\n(.*?)^```$", "\n".join(pages.values()), re.M | re.S)
        more = sorted(set(pages) - set(" ".join(lists).split()) - {"index"})
        source[0] = source[0].replace("\ncustom_loss\n", "\n".join(["", "custom_loss", *more, ""]))


# ---- reference ------------------------------------------------------------------------------

HOMES = ("", "svm", "losses", "kernels", "plotting", "io", "patch", "blocks", "dask")
TABLES = {"COUPLED", "LOSSES", "KERNELS", "Points"}  # described in words


def list_all_names(app, docname, source):
    """Add to the reference the public names that no section of it has yet."""
    if docname != "api":
        return
    listed = set(re.findall(r"^   (?:\w+\.)*(\w+)$", source[0], re.M))
    lines = []
    for home in HOMES:
        module = importlib.import_module(f"resolvent.{home}".rstrip("."))
        for name in sorted(set(module.__all__) - listed - TABLES):
            kind = "class" if isinstance(getattr(module, name), type) else "function"
            listed.add(name)
            lines += [f".. auto{kind}:: {module.__name__}.{name}", "   :members:", ""]
    if lines:
        source[0] = source[0].rstrip().removesuffix("```") + "\n".join(
            ["", "Further names", "-------------", "", *lines, "```", ""]
        )


autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say it in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# What every estimator has from scikit-learn, and is documented there.
INHERITED = {"get_metadata_routing", "__sklearn_tags__"}


def escape(app, what, name, obj, options, lines):
    """Let |r| be a size and coef_ a name: reStructuredText would take them for references."""
    lines[:] = [
        line
        if "`" in line or line.lstrip().startswith((">>>", "..."))
        else re.sub(r"(\w)_(?=[\s.,;:)]|$)", r"\1\\_", line.replace("|", r"\|"))
        for line in lines
    ]


def skip(app, what, name, obj, skipped, options):
    """Leave scikit-learn's machinery out of the reference."""
    routed = name.startswith("set_") and name.endswith("_request")
    return True if routed or name in INHERITED else None


# ---- gallery --------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"demo\.py",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,  # a page that fetches scripts from elsewhere
    "reset_modules_order": "after",
    "abort_on_example_error": True,
}
suppress_warnings = ["config.cache"]  # the gallery's settings hold no functions worth comparing

# ---- look -----------------------------------------------------------------------------------

# Where all versions are; without it the switch knows the one that is built.
SITE = os.environ.get("DOCS_SITE", "")

html_theme = "pydata_sphinx_theme"
html_title = "resolvent"
html_context = {"default_mode": "auto"}
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["resolvent.css"]
html_show_sourcelink = False
html_theme_options = {
    "github_url": "https://github.com/resolvent-dev/resolvent",
    "show_nav_level": 1,
    "header_links_before_dropdown": 6,
    "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    "switcher": {"json_url": f"{SITE}/_static/switcher.json", "version_match": release},
    "check_switcher": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}


def setup(app):
    """Connect what is special here."""
    app.connect("source-read", list_all_pages)
    app.connect("source-read", list_all_names)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", escape, priority=900)  # after numpydoc
