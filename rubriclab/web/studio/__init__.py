"""The studio: a store of rubrics as pages in a browser. `app` serves it; the other modules are its pages."""
