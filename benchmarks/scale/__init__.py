"""Data larger than memory: what counts is the distance to merely reading it, and the memory it takes."""
