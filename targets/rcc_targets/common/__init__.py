"""What the targets share: encoders, the scripts that stand before an engine, the files that artifacts carry."""
