"""The HTTP server beside the loop: health, metrics, views and runs as JSON, and what people ask for. No Spark."""
