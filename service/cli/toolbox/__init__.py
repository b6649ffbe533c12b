"""What several verbs share: options, console output, progress bars, exits, output folders."""
