"""The command `semblance`: one verb a file, imported when it is called."""
