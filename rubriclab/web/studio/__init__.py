"""The studio: a store of rubrics as pages in a browser. `studio` has what the pages share, `pages` their routes."""
