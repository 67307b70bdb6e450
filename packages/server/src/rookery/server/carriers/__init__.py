"""What carries HTTP: the servers below the app, and the socket that they listen on."""
