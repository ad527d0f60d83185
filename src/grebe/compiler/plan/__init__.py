"""What refreshing a view takes, as data: strategy, steps, cost, layout."""
