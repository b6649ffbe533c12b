"""The projections, one a file: maps that are fitted to the vectors of many texts and then applied to all."""
