"""Formats of files, one a module; what needs an extra is imported when it is used."""
