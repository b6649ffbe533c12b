"""Render an explanation as SVG, PNG or HTML."""
