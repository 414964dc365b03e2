"""Long measurements behind what stiffax says of itself, run by `make prove`; their evidence is in docs/evidence."""
