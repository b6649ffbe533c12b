"""Tables, plots and pages of evaluations."""
