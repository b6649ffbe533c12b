"""Shared by several verbs: options, console output, progress bars, exits, output folders."""
