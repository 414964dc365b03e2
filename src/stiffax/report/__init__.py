"""What is shown of a solution: figures, and where they may be written."""
