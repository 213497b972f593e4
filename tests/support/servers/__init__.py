"""Real servers and clusters that tests start on loopback, each with a port and a folder its own."""
