"""The page on which people label texts: `app` answers its requests, `content` is what it shows, `run` serves it."""
