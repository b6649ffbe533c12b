"""Real servers on loopback ports of their own, each of which can be killed, stopped, continued and started again."""
