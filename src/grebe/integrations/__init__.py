"""What stands between grebe and other tools; each file needs its tool, and nothing else needs the file."""
