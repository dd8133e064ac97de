"""Find classes by name, check them, and make objects; what their specs reach."""
