"""What runs the application: the life of the process, and its connections held to limits."""
