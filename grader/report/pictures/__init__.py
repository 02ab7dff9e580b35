"""What the pictures of a report show, as plain data with coordinates in pixels; templates draw it."""
