"""The measures, one a file, under the name the papers give them."""
