"""Real servers as child processes; each can be killed, suspended and restarted."""
