"""When views are refreshed by themselves: what is due, who joins which run, what follows a failure; and the loop.

`due`, `run_groups` and `backoff` are pure: settings, times and what was seen go in, decisions come out.
"""
