"""How a Spark is had and tuned: Java, jars, the class archive, sessions."""
