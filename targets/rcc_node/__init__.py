"""What runs on a node: staging, its checks, and what must be true before an engine starts. Standard library only."""
