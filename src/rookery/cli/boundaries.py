"""`rookery boundaries`: what runs on the event loop, what in threads, what as a stream."""
