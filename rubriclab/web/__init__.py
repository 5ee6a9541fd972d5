"""Pages in a browser, served by this process: `server` runs them, `security` guards them, `page` renders them."""
