"""The hearing test: what ears look like, which tone to play next, and when to stop."""
