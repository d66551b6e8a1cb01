"""Delta rules: from what changed below an operator to what changes in its result. One file for each kind of rule."""
