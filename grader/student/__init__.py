"""What students get: skeletons made from the reference solution. Nothing here imports torch."""
