"""The command `semblance`, one file a verb."""
