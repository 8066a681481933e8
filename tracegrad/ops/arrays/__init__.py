"""Making arrays, and showing, joining and moving their elements."""
