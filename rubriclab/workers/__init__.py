"""Processes that share one budget, one set of limits and one recording, which their parent keeps.

`channel` carries the messages, `process` starts and ends a worker, `shared` has both sides of what is shared.
"""
