"""What the methods of both clients send, and how they read the answers."""
