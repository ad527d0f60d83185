"""Row views: functions over rows, asked once for each of their inputs."""
