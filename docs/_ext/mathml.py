"""Formulas as MathML, which browsers show without a script or anything to fetch."""

import latex2mathml.converter


def _visit(display):
    def visit(self, node):
        element = latex2mathml.converter.convert(node.astext(), display=display)
        opening, closing = ('<div class="formula">', "</div>") if display == "block" else ("", "")
        self.body.append(opening + element + closing)
        from docutils.nodes import SkipNode

        raise SkipNode

    return visit


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_visit("inline"), None), (_visit("block"), None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
