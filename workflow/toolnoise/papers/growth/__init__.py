"""Growth: how the distance between two trainings grows with the steps."""
