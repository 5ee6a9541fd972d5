"""Pages in a browser and the HTTP service: `server` runs and guards `label`, `studio` and `api`."""
