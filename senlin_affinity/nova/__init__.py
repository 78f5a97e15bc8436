"""Pure functions that return what Nova and Placement return for equal input."""
