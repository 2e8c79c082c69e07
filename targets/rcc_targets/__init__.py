"""The targets that come with rcc: a plan in, files out, nothing decided."""
