"""What people write: characters, the spans of their parts, and texts put in the place of some."""
