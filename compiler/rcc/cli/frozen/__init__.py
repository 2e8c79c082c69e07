"""Reports: a recipe kept with all that it was built from."""
