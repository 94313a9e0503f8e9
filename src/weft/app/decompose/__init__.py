"""`weft decompose`: the files of a project become a plan."""
