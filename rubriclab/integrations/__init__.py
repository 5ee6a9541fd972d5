"""rubriclab inside other tools; each module needs the library that it is named after, as an extra of that name."""
