"""A TOML file as values, and, once something has to be pointed at, as places."""
