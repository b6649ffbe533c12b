"""The verbs of the lab, which `semblance` lists where it is installed."""
