"""What several test modules share; each module says in its first line what it stands in for."""
