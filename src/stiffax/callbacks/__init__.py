"""What may happen between chunks of a run: anything that takes a `Progress`."""
