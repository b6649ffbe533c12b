"""Tables, plots and reports of evaluations."""
