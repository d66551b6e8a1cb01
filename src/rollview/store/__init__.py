"""Where tables live: the protocol, and the stores that keep it. A store knows no views."""
